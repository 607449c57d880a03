import { HealthImplementation } from 'grpc-health-check';
import type { Logger } from 'pino';
import type { BuiltService } from './call.ts';

export interface HealthOptions {
  readonly log: Logger;
  /** Milliseconds between two checks while ready; while not ready five times as often. */
  readonly intervalMs: number;
}

/** The status in `grpc.health.v1`, of the whole server (empty name) and of each service, as `built.ready()` says. */
export class HealthStatus {
  readonly implementation: HealthImplementation;
  readonly #built: BuiltService;
  readonly #options: HealthOptions;
  readonly #names: readonly string[];
  #serving = false;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(built: BuiltService, options: HealthOptions) {
    this.#built = built;
    this.#options = options;
    this.#names = ['', ...built.routes.map((route) => route.service.typeName)];
    this.implementation = new HealthImplementation(
      Object.fromEntries(this.#names.map((name) => [name, 'NOT_SERVING' as const])),
    );
  }

  /** Checks now, and again until `stop`. */
  async follow(): Promise<void> {
    const trouble = await this.#check();
    if (this.#stopped) return;
    this.#set(trouble);
    const { intervalMs } = this.#options;
    this.#timer = setTimeout(() => void this.follow(), trouble === undefined ? intervalMs : intervalMs / 5);
    this.#timer.unref();
  }

  /** Not serving from now on. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#announce('NOT_SERVING');
  }

  async #check(): Promise<unknown> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer in time')), this.#options.intervalMs);
    });
    try {
      await Promise.race([this.#built.ready(), tooLate]);
      return undefined;
    } catch (error) {
      return error ?? new Error('not ready');
    } finally {
      clearTimeout(timer);
    }
  }

  #set(trouble: unknown): void {
    const serving = trouble === undefined;
    if (serving === this.#serving) return;
    this.#serving = serving;
    if (serving) this.#options.log.info({ name: this.#built.name }, 'serving');
    else this.#options.log.warn({ name: this.#built.name, error: trouble }, 'not serving');
    this.#announce(serving ? 'SERVING' : 'NOT_SERVING');
  }

  #announce(status: 'SERVING' | 'NOT_SERVING'): void {
    for (const name of this.#names) this.implementation.setStatus(name, status);
  }
}
