import { setTimeout as pause } from 'node:timers/promises';
import { createRemoteJWKSet, errors, type JWTVerifyGetKey, type RemoteJWKSet } from 'jose';

const fetchAgainAfterMs = 1_000;

/**
 * The server's published keys (RFC 7517 §5), used for ten minutes. They are fetched when they are needed, at most once a
 * second. Whoever needs a fetch waits for it, unless the last one brought nothing in time: then nobody does until one has.
 */
export class PublishedKeys {
  readonly #set: RemoteJWKSet;
  readonly #patienceMs: number;
  #fetching: Promise<void> | undefined;
  #startedAt = -Infinity;
  #away = false;

  /** @param patienceMs how long one caller waits at most; the fetch itself may take longer */
  constructor(uri: string, patienceMs: number) {
    this.#set = createRemoteJWKSet(new URL(uri), { cooldownDuration: Infinity });
    this.#patienceMs = patienceMs;
  }

  /** Throws `JWKSNoMatchingKey` for a key that is not published, and another error when the keys cannot be had. */
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
    if (fetching !== undefined && !this.#away) {
      await Promise.race([fetching, pause(this.#patienceMs, undefined, { ref: false })]);
      this.#away ||= this.#fetching === fetching;
    }
    if (this.#away) throw new Error('The published keys cannot be had.');
  }

  async #load(): Promise<void> {
    this.#startedAt = performance.now();
    try {
      await this.#set.reload();
      this.#away = false;
    } catch {
      this.#away = true;
    } finally {
      this.#fetching = undefined;
    }
  }
}
