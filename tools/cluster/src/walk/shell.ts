import { spawn } from 'node:child_process';
import { checkout } from './guide.ts';

/** A command that was typed. */
export interface Running {
  /** What it printed up to now, on standard output and standard error. */
  printed(): string;
  /** What it printed on standard output; rejects with what it complained about if it failed. */
  readonly output: Promise<string>;
}

/** Lines are typed here as into bash, in the root of the checkout. */
export interface Shell {
  start(line: string): Running;
  run(line: string): Promise<string>;
  /** Ends what still runs. */
  end(): void;
}

/** @param before lines that every command is preceded by, such as aliases */
export function openShell(before: readonly string[], environment: NodeJS.ProcessEnv): Shell {
  const running = new Set<number>();
  function start(line: string): Running {
    const script = ['set -euo pipefail', 'shopt -s expand_aliases', ...before, line].join('\n');
    // A group of its own, so that what the command starts ends with it.
    const child = spawn('bash', ['-c', script], {
      cwd: checkout,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { pid } = child;
    if (pid !== undefined) running.add(pid);
    let printed = '';
    let output = '';
    let complaint = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      printed += part;
      output += part;
    });
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      printed += part;
      complaint += part;
    });
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    child.once('error', reject);
    child.once('close', (code) => {
      if (pid !== undefined) running.delete(pid);
      if (code === 0) resolve(output);
      else reject(new Error(`${line.split(' ').slice(0, 3).join(' ')}: ${complaint.trim().slice(-1500)}`));
    });
    // Somebody may look at what it printed alone.
    promise.catch(() => undefined);
    return { printed: () => printed, output: promise };
  }
  return {
    start,
    run: (line) => start(line).output,
    end() {
      for (const pid of running) process.kill(-pid);
    },
  };
}
