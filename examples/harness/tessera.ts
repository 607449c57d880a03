import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = join(import.meta.dirname, '../..');

/** Starts Tessera with embedded stores and the declared state of the examples. Resolves when it answers. */
export async function startTessera(issuer: string, profile: string) {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-examples-'));
  const server = spawn(process.execPath, ['apps/standalone/src/main.ts'], {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: 'node_modules/.cache/modules',
      TESSERA_PROFILE: profile,
      TESSERA_DISCOVERY: 'complete',
      TESSERA_ISSUER: issuer,
      TESSERA_HTTP_PORT: new URL(issuer).port,
      TESSERA_APPLY_FILE: 'examples/tessera.yaml',
      TESSERA_DATA_DIR: directory,
      TESSERA_ALLOW_PRIVATE: 'providers,issuers',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  server.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const stop = async () => {
    server.kill();
    await ended;
    rmSync(directory, { recursive: true, force: true });
  };
  while (!(await answers(`${issuer}/readyz`))) {
    if (server.exitCode !== null) throw new Error(`Tessera did not start.\n${output}`);
    await sleep(100);
  }
  return { directory, stop };
}

/** Runs `tessera` at the server with this data directory. Throws unless it succeeds. */
export const commandsOf =
  (directory: string) =>
  (...words: string[]): void =>
    void execFileSync(process.execPath, ['apps/cli/src/main.ts', ...words], {
      cwd: root,
      env: { PATH: process.env['PATH'], TESSERA_DATA_DIR: directory },
      stdio: ['ignore', 'inherit', 'inherit'],
    });

/** Whether a GET is answered, with an error too. */
export async function answers(url: string): Promise<boolean> {
  return fetch(url, { redirect: 'manual' }).then(
    () => true,
    () => false,
  );
}
