/**
 * `npm run start:split`: the seven processes of the split topology on this machine, over gRPC on loopback, with a
 * shared token made for this run. Settings come from the environment; DATABASE_URL, REDIS_URL and the three secrets of
 * the README are required, as the processes share their stores.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';

/** In calling order, each with its port for calls on loopback. */
const processes = {
  keys: 9101,
  directory: 9102,
  authorize: 9103,
  device: 9104,
  token: 9105,
  gateway: 9106,
  admin: 9107,
};

/** They call and are not called. */
const fronts = ['gateway', 'admin'];

const required = [
  'DATABASE_URL',
  'REDIS_URL',
  'TESSERA_KEYS_KEK',
  'TESSERA_DIRECTORY_PEPPER',
  'TESSERA_TOKEN_REFRESH_KEYS',
];
const isGiven = (key: string): boolean => Boolean(process.env[key]) || Boolean(process.env[`${key}_FILE`]);
const missing = required.filter((key) => !isGiven(key));

if (missing.length > 0) {
  process.stderr.write(`npm run start:split needs ${missing.join(', ')}. The README says what they are.\n`);
  process.exitCode = 1;
} else {
  process.exitCode = await run();
}

/** Runs all of them until one ends or this process is asked to stop; then stops the rest. */
async function run(): Promise<number> {
  const shared = {
    // What Node makes of each module is kept for the next start.
    NODE_COMPILE_CACHE: 'node_modules/.cache/modules',
    ...process.env,
    TESSERA_RPC_AUTH: 'token',
    TESSERA_RPC_TOKEN: randomBytes(32).toString('base64url'),
    TESSERA_PEERS: Object.entries(processes)
      .filter(([name]) => !fronts.includes(name))
      .map(([name, port]) => `${name}=127.0.0.1:${port}`)
      .join(' '),
  };
  const management = Number(process.env['TESSERA_MANAGEMENT_PORT']);
  const children = Object.entries(processes).map(([name, port], at) =>
    spawn(process.execPath, ['--max-semi-space-size=4', `apps/${name}/src/main.ts`], {
      cwd: dirname(import.meta.dirname),
      env: {
        ...shared,
        // That of the admin process, which serves no internal calls, is for administrators.
        ...(name === 'admin'
          ? { TESSERA_ADMIN_PORT: process.env['TESSERA_ADMIN_PORT'] ?? String(port) }
          : { TESSERA_RPC_PORT: String(port) }),
        // One for each process, counted up from that of the environment.
        ...(management > 0 ? { TESSERA_MANAGEMENT_PORT: String(management + at) } : {}),
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    }),
  );
  const ends = children.map((child, at) => ended(child, Object.keys(processes)[at] ?? ''));
  let stopping = false;
  // The terminal signals the whole group; a supervisor signals this process alone.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      stopping ||= signal !== 'SIGHUP';
      for (const child of children) child.kill(signal);
    });
  }
  const first = await Promise.race(ends);
  if (!stopping) process.stderr.write(`${first.name} ended (${first.how}); stopping the others\n`);
  for (const child of children) child.kill('SIGTERM');
  const all = await Promise.all(ends);
  return stopping && all.every(({ code }) => code === 0) ? 0 : 1;
}

interface End {
  readonly name: string;
  readonly how: string;
  /** 1 for a process that a signal killed. */
  readonly code: number;
}

function ended(child: ChildProcess, name: string): Promise<End> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ name, how: error.message, code: 1 }));
    child.once('exit', (code, signal) => resolve({ name, how: signal ?? `code ${code}`, code: code ?? 1 }));
  });
}
