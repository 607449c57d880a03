import { repeat, type Clock, type Repetition } from '@tessera/kit';
import type { Logger } from '@tessera/telemetry';
import type { SecretUse } from './found-secrets.ts';

const flushMs = 60_000;
/** Secrets recorded between two writes; the use of others is recorded next time. */
const capacity = 10_000;

/** Where they are recorded. */
interface UsesStore {
  noteSecretUses(uses: readonly SecretUse[]): Promise<void>;
}

/** Records when client secrets were last used, in one statement a minute, outside of requests. */
export class SecretUses {
  readonly #store: UsesStore;
  readonly #runtime: { readonly clock: Clock; readonly log: Logger };
  readonly #uses = new Map<string, SecretUse>();
  readonly #flushes: Repetition;

  constructor(store: UsesStore, runtime: { readonly clock: Clock; readonly log: Logger }) {
    this.#store = store;
    this.#runtime = runtime;
    this.#flushes = repeat(() => this.#flush(), {
      pauseMs: flushMs,
      startsWithPause: true,
      // `#flush` has reported it.
      onError: () => undefined,
    });
  }

  record(use: Omit<SecretUse, 'usedAt'>): void {
    const key = `${use.clientId} ${use.digest}`;
    if (this.#uses.size >= capacity && !this.#uses.has(key)) return;
    this.#uses.set(key, { ...use, usedAt: this.#runtime.clock.now() });
  }

  async close(): Promise<void> {
    await this.#flushes.close();
    await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = [...this.#uses.values()];
    this.#uses.clear();
    try {
      await this.#store.noteSecretUses(uses);
    } catch (error) {
      this.#runtime.log.warn(
        { err: error, uses: uses.length },
        'could not record the last use of client secrets',
      );
    }
  }
}
