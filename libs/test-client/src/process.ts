import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bareEnvironment, eventually } from '@tessera/test-kit/provision';

const ownRoot = fileURLToPath(new URL('../../../', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

export interface ServerProcessOptions {
  /** The checkout to run; default: this one. */
  readonly root?: string | undefined;
  /** Of Node, before the entry. */
  readonly nodeOptions?: readonly string[];
  /** Of the program, behind the entry. */
  readonly arguments?: readonly string[];
  /** Where the output goes instead of into memory. */
  readonly logFile?: string;
}

/** A server process and its output. */
export class ServerProcess {
  readonly name: string;
  readonly #entry: string;
  readonly #options: ServerProcessOptions;
  readonly #output: string[] = [];
  #child: ChildProcess | undefined;
  #exited: Promise<number | null> = Promise.resolve(0);

  /** `entry` is a path below the root of the checkout. */
  constructor(name: string, entry: string, options: ServerProcessOptions = {}) {
    this.name = name;
    this.#entry = entry;
    this.#options = options;
  }

  get output(): string {
    const { logFile } = this.#options;
    return logFile === undefined ? this.#output.join('') : readFileSync(logFile, 'utf8');
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start(environment: Environment): void {
    const inherited = { ...bareEnvironment(), HOME: process.env['HOME'] ?? '' };
    const { root = ownRoot, nodeOptions = [], arguments: behind = [], logFile } = this.#options;
    const log = logFile === undefined ? 'pipe' : openSync(logFile, 'w');
    const child = spawn(process.execPath, [...nodeOptions, this.#entry, ...behind], {
      cwd: root,
      env: { ...inherited, ...environment },
      stdio: ['ignore', log, log],
    });
    if (typeof log === 'number') closeSync(log);
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => this.#output.push(chunk.toString('utf8')));
    this.#exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) this.#child?.kill(signal);
  }

  /** Resolves with the exit code once the process has ended by itself or by a signal. */
  async ended(): Promise<number | null> {
    return this.#exited;
  }

  /**
   * Resolves once `/readyz` at a URL answers with 200; throws with the last of the output if the process ends before.
   */
  async ready(url: string, withinMs?: number, intervalMs?: number): Promise<void> {
    await eventually(
      `${this.name} is ready`,
      async () => !this.running || (await fetch(url)).status === 200,
      withinMs,
      intervalMs,
    );
    if (!this.running) throw new Error(`${this.name} ended:\n${this.output.slice(-2000)}`);
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
