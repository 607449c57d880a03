import { eventually } from '@tessera/test-kit/provision';
import { entryOf, ServerProcess, type Environment } from '@tessera/test-client';

/** Twelve processes start at once, on a machine that may be busy. */
const readyWithinMs = 240_000;
/** Time to pause, drain and close, with a margin for a busy machine. */
const stopWithinMs = 30_000;

/** One process of the system, which can be stopped and restarted at the same addresses. */
export class Replica {
  readonly name: string;
  readonly service: string;
  readonly httpPort: number;
  readonly rpcPort: number;
  readonly managementPort: number;
  /** Of the administration API, where it serves that. */
  readonly adminPort: number;
  readonly #environment: Environment;
  readonly #past: { readonly root: string | undefined; readonly process: ServerProcess }[] = [];
  #root: string | undefined;
  #process: ServerProcess;

  constructor(
    service: string,
    at: number,
    ports: { http: number; rpc: number; management: number; admin: number },
    environment: Environment,
    root: string | undefined,
  ) {
    this.service = service;
    this.name = `${service}-${at + 1}`;
    this.httpPort = ports.http;
    this.rpcPort = ports.rpc;
    this.managementPort = ports.management;
    this.adminPort = ports.admin;
    this.#environment = environment;
    this.#root = root;
    this.#process = this.#from(root);
  }

  get output(): string {
    return this.runs.map(({ output }) => output).join('');
  }

  /** Its output, by the checkout that it was started from, in order. */
  get runs(): readonly { readonly root: string | undefined; readonly output: string }[] {
    return [...this.#past, { root: this.#root, process: this.#process }].map(({ root, process }) => ({
      root,
      output: process.output,
    }));
  }

  start(): void {
    this.#process.start(this.#environment);
  }

  async ready(): Promise<void> {
    await this.#process.ready(`http://127.0.0.1:${this.managementPort}/readyz`, readyWithinMs);
  }

  /** Stops it and waits; throws unless it exits by itself with 0. */
  async stop(): Promise<void> {
    this.#process.signal('SIGTERM');
    const late = setTimeout(() => this.#process.signal('SIGKILL'), stopWithinMs);
    const code = await this.#process.ended();
    clearTimeout(late);
    if (code !== 0) throw new Error(`${this.name} did not stop in order: ${code ?? 'by force'}`);
  }

  async kill(): Promise<void> {
    await this.#process.kill();
  }

  /** Its clock, an hour ahead or back again; it was started with `steppable-clock`. */
  stepClock(): void {
    this.#process.signal('SIGWINCH');
  }

  async unready(): Promise<void> {
    const url = `http://127.0.0.1:${this.managementPort}/readyz`;
    await eventually(
      `${this.name} is not ready`,
      async () => (await fetch(url)).status === 503,
      readyWithinMs,
    );
  }

  reload(): void {
    this.#process.signal('SIGHUP');
  }

  /** The checkout for later starts; undefined: this one. */
  moveTo(root: string | undefined): void {
    this.#past.push({ root: this.#root, process: this.#process });
    this.#root = root;
    this.#process = this.#from(root);
  }

  #from(root: string | undefined): ServerProcess {
    return new ServerProcess(this.name, entryOf(this.service), { root });
  }
}
