import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A running store. */
export interface Store {
  readonly url: string;
  /** Where it comes from, for people. */
  readonly origin: string;
  stop(): Promise<void>;
}

/** A server that lives exactly as long as the process that started it. */
export interface HeldProcess {
  /** Waits until `probe` resolves; throws with the server's own output when it ends first or takes over a minute. */
  until(probe: () => Promise<unknown>): Promise<void>;
  /** Ends the server, by another signal where one is given, and resolves when its directory is gone. */
  stop(signal?: Signal): Promise<void>;
}

/** `INT` ends Postgres in order, `QUIT` without ceremony. */
export type Signal = 'TERM' | 'QUIT' | 'INT' | 'KILL';

export interface HeldProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Everything the server writes; removed when it has ended. Absent: what it writes outlives it. */
  readonly directory?: string;
  /** The signal that ends the server without ceremony. */
  readonly signal: Signal;
  readonly user?: { readonly uid: number; readonly gid: number };
}

// The shell waits on its standard input: however this process ends, SIGKILL included, the pipe closes, and the shell
// ends the one process it started and removes the directory.
const keeper = `
directory=$1; signal=$2; shift 2
exec 3<&0
"$@" </dev/null & server=$!
(read -r word <&3; kill -s "\${word:-$signal}" "$server") & watch=$!
wait "$server"; status=$?
kill "$watch" 2>/dev/null
[ -z "$directory" ] || rm -rf -- "$directory"
exit "$status"
`;

const readyWithinMs = 60_000;

export function holdProcess(options: HeldProcessOptions): HeldProcess {
  const child = spawn(
    '/bin/sh',
    ['-c', keeper, 'keeper', options.directory ?? '', options.signal, options.command, ...options.args],
    // Its own session: a Ctrl-C at the terminal reaches the tests first, and the servers end after them.
    { stdio: ['pipe', 'pipe', 'pipe'], detached: true, cwd: '/', ...options.user },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4000)));
  }
  let ended = false;
  const end = new Promise<void>((resolve) => {
    for (const event of ['exit', 'error'] as const) {
      child.once(event, () => {
        ended = true;
        resolve();
      });
    }
  });
  const failure = () => new Error(`${options.command} did not start.\n${output.trim()}`);

  return {
    async until(probe) {
      const deadline = Date.now() + readyWithinMs;
      while (!ended && Date.now() < deadline) {
        try {
          await probe();
          return;
        } catch {
          await sleep(50);
        }
      }
      throw failure();
    },
    async stop(signal) {
      // A server that ended by itself took the pipe with it.
      child.stdin.on('error', () => undefined);
      child.stdin.end(signal === undefined ? '' : `${signal}\n`);
      await end;
    },
  };
}

/** Below those that systems give to outgoing connections, one of which could take a port while its server restarts. */
const ports = { from: 10_240, to: 32_768 } as const;
/**
 * Test files that run side by side take theirs from parts of their own: a free port is taken only a moment after it was
 * found.
 */
const parts = 16;
const part = Number(process.env['VITEST_POOL_ID'] ?? 0) % parts;
const perPart = Math.floor((ports.to - ports.from) / parts);
const given = new Set<number>();

/** A port on loopback that was free a moment ago, and that this process was not given before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = ports.from + part * perPart + randomInt(perPart);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
