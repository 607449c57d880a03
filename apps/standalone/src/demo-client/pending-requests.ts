import { createHash } from 'node:crypto';
import type { Clock, Random } from '@tessera/kit';

export interface PendingRequest {
  readonly state: string;
  readonly verifier: string;
  readonly nonce: string;
  readonly challenge: string;
}

const lifetimeMs = 10 * 60_000;
const mostAtOnce = 1000;

/** Authorization requests the demo client sent and was not called back for yet. */
export class PendingRequests {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #byState = new Map<string, PendingRequest & { readonly until: number }>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  start(): PendingRequest {
    const verifier = this.#text();
    const request = {
      state: this.#text(),
      verifier,
      nonce: this.#text(),
      challenge: createHash('sha256').update(verifier).digest('base64url'),
    };
    const [oldest] = this.#byState.keys();
    if (this.#byState.size >= mostAtOnce && oldest !== undefined) this.#byState.delete(oldest);
    this.#byState.set(request.state, { ...request, until: this.#clock.now() + lifetimeMs });
    return request;
  }

  /** The request with this state, once. */
  take(state: string): PendingRequest | undefined {
    const request = this.#byState.get(state);
    this.#byState.delete(state);
    return request !== undefined && request.until > this.#clock.now() ? request : undefined;
  }

  #text(): string {
    return this.#random.bytes(32).toString('base64url');
  }
}
