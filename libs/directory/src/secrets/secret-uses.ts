import { NotedLater, type Clock } from '@tessera/kit';
import type { Logger } from '@tessera/telemetry';
import type { SecretUse } from './found-secrets.ts';

/** Where they are recorded. */
interface UsesStore {
  noteSecretUses(uses: readonly SecretUse[]): Promise<void>;
}

/** Records when client secrets were last used, in one statement a minute, outside of requests. */
export class SecretUses {
  readonly #clock: Clock;
  readonly #uses: NotedLater<SecretUse>;

  constructor(store: UsesStore, { clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#clock = clock;
    this.#uses = new NotedLater({
      write: (uses) => store.noteSecretUses(uses),
      pauseMs: 60_000,
      capacity: 10_000,
      onError: (err, uses) => log.warn({ err, uses }, 'could not record the last use of client secrets'),
    });
  }

  record(use: Omit<SecretUse, 'usedAt'>): void {
    this.#uses.note(`${use.clientId} ${use.digest}`, { ...use, usedAt: this.#clock.now() });
  }

  async close(): Promise<void> {
    await this.#uses.close();
  }
}
