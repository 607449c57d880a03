/**
 * For engines that ask by a command: exit code 0 when this container's process reports ready, without a shell or curl.
 */
const port = process.env['TESSERA_MANAGEMENT_PORT'] ?? '9090';

const ready = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2000) }).then(
  (answer) => answer.ok,
  () => false,
);
process.exitCode = ready ? 0 : 1;
