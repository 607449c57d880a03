import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export { eventually, freePort } from '@tessera/test-kit/provision';

const ownRoot = fileURLToPath(new URL('../../../../', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

/** A server process and its output. */
export class ServerProcess {
  readonly name: string;
  readonly #entry: string;
  readonly #root: string;
  readonly #output: string[] = [];
  #child: ChildProcess | undefined;
  #exited: Promise<number | null> = Promise.resolve(0);

  /** `entry` is a path below `root`, the checkout to run; the default is this one. */
  constructor(name: string, entry: string, root = ownRoot) {
    this.name = name;
    this.#entry = entry;
    this.#root = root;
  }

  get output(): string {
    return this.#output.join('');
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start(environment: Environment): void {
    const inherited = {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
    };
    const child = spawn(process.execPath, [this.#entry], {
      cwd: this.#root,
      env: { ...inherited, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stdout.on('data', (chunk: Buffer) => this.#output.push(chunk.toString('utf8')));
    child.stderr.on('data', (chunk: Buffer) => this.#output.push(chunk.toString('utf8')));
    this.#exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) this.#child?.kill(signal);
  }

  /** Resolves with the exit code once the process has ended by itself or by a signal. */
  async ended(): Promise<number | null> {
    return this.#exited;
  }

  /** Stops the process; kills it after ten seconds. */
  async stop(): Promise<number | null> {
    if (!this.running) return this.#child?.exitCode ?? null;
    this.signal('SIGTERM');
    const ended = await Promise.race([this.#exited, sleep(10_000, 'late' as const, { ref: false })]);
    if (ended !== 'late') return ended;
    this.signal('SIGKILL');
    return this.#exited;
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.#exited;
  }
}
