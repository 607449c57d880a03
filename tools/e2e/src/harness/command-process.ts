import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Environment } from '@tessera/test-client';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

const entry = 'apps/cli/src/main.ts';
/** With which `npm run tessera` starts it. */
const [, given = ''] = / node ((?:--\S+ )+)apps\/cli/.exec(readFileSync(`${root}package.json`, 'utf8')) ?? [];
const flags = given.trim().split(' ');

/** A run of `tessera` as a process that can be killed. */
export interface CommandProcess {
  readonly printed: { readonly out: string; readonly said: string };
  readonly ended: Promise<number | null>;
  /** The most memory that it has had at a time, in MiB. */
  peakMiB(): number;
  kill(): void;
}

export function startCommand(words: readonly string[], environment: Environment): CommandProcess {
  const child = spawn(process.execPath, [...flags, entry, ...words], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { out: '', said: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (printed.said += chunk.toString('utf8')));
  let peak = 0;
  const look = () => (peak = Math.max(peak, peakMemoryMiB(child.pid ?? 0)));
  const timer = setInterval(look, 100);
  const ended = new Promise<number | null>((resolve) =>
    child.once('close', (code) => {
      clearInterval(timer);
      resolve(code);
    }),
  );
  return { printed, ended, peakMiB: () => peak, kill: () => child.kill('SIGKILL') };
}

/** The most memory that a process has had at a time; 0 where nobody says that. */
export function peakMemoryMiB(pid: number): number {
  try {
    const [, kibibytes = '0'] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kibibytes) / 1024;
  } catch {
    return 0;
  }
}
