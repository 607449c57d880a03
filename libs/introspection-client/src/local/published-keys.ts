import { setTimeout as pause } from 'node:timers/promises';
import { createRemoteJWKSet, errors, type JWTVerifyGetKey, type RemoteJWKSet } from 'jose';

const fetchAgainAfterMs = 1_000;

/**
 * The published keys of the server (RFC 7517 §5), cached for ten minutes and fetched on demand, at most once a second.
 * Callers wait for a fetch, unless the last one timed out: then they fail at once until a fetch succeeds.
 */
export class PublishedKeys {
  readonly #set: RemoteJWKSet;
  readonly #patienceMs: number;
  #fetching: Promise<void> | undefined;
  #startedAt = -Infinity;
  #unavailable = false;

  /** @param patienceMs longest wait of one caller; the fetch itself may take longer */
  constructor(uri: string, patienceMs: number) {
    this.#set = createRemoteJWKSet(new URL(uri), { cooldownDuration: Infinity });
    this.#patienceMs = patienceMs;
  }

  /** Throws `JWKSNoMatchingKey` for an unpublished key, and another error if the keys are unavailable. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (!this.#set.fresh) await this.#fetch();
    try {
      return await this.#set(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // It may be newer than what we have.
      await this.#fetch();
      return this.#set(header, token);
    }
  };

  async #fetch(): Promise<void> {
    const isDue = performance.now() - this.#startedAt >= fetchAgainAfterMs;
    if (isDue) this.#fetching ??= this.#load();
    const fetching = this.#fetching;
    if (fetching !== undefined && !this.#unavailable) {
      await Promise.race([fetching, pause(this.#patienceMs, undefined, { ref: false })]);
      this.#unavailable ||= this.#fetching === fetching;
    }
    if (this.#unavailable) throw new Error('cannot fetch the published keys');
  }

  async #load(): Promise<void> {
    this.#startedAt = performance.now();
    try {
      await this.#set.reload();
      this.#unavailable = false;
    } catch {
      this.#unavailable = true;
    } finally {
      this.#fetching = undefined;
    }
  }
}
