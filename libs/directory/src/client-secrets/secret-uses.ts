import type { Clock } from '@tessera/kit';
import type { Logger } from '@tessera/telemetry';
import type { DirectoryStore, SecretUse } from '../store/store.ts';

const flushMs = 60_000;
/** Applications noted between two writes; more wait for the next use. */
const capacity = 10_000;

/** Notes when client secrets were last used, in one statement a minute and never on the path of a request. */
export class SecretUses {
  readonly #store: DirectoryStore;
  readonly #kit: { readonly clock: Clock; readonly log: Logger };
  readonly #uses = new Map<string, SecretUse>();
  readonly #timer: NodeJS.Timeout;

  constructor(store: DirectoryStore, kit: { readonly clock: Clock; readonly log: Logger }) {
    this.#store = store;
    this.#kit = kit;
    this.#timer = setInterval(() => void this.#flush(), flushMs).unref();
  }

  note(use: Omit<SecretUse, 'usedAt'>): void {
    const key = `${use.clientId} ${use.digest}`;
    if (this.#uses.size >= capacity && !this.#uses.has(key)) return;
    this.#uses.set(key, { ...use, usedAt: this.#kit.clock.now() });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = [...this.#uses.values()];
    this.#uses.clear();
    try {
      await this.#store.noteSecretUses(uses);
    } catch (error) {
      this.#kit.log.warn({ error, uses: uses.length }, 'the last use of client secrets was not noted');
    }
  }
}
