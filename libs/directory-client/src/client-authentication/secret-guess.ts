import { hash } from 'node:crypto';
import { addressKey, type Limiter, type LimitRule } from '@tessera/stores';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';

const perClientAndAddress = { name: 'client-secret.application', limit: 20, windowSeconds: 300 };
/**
 * Over all addresses. Beyond it, every address has five attempts instead of twenty. It is not zero, because guesses
 * from many addresses must not lock out the client itself, which needs one attempt per process.
 */
const perClient = { name: 'client-secret.client', limit: 500, windowSeconds: 300 };
const underAttack = { ...perClientAndAddress, limit: 5 };
/** Higher, because many applications behind one address may have a wrong secret. */
const perAddress = { name: 'client-secret.address', limit: 300, windowSeconds: 300 };

/** A guess of a secret on its limits: those of the address, of the client, and of both together. */
export class SecretGuess {
  readonly #limiter: Limiter | undefined;
  readonly #begun: Counted[] = [];

  constructor(limiter: Limiter | undefined) {
    this.#limiter = limiter;
  }

  /**
   * Counts before the check, so that concurrent guesses are limited like consecutive ones. Throws `rate_limited` after
   * too many failed guesses, `temporarily_unavailable` while too many are in progress.
   */
  async begin(clientId: string, ipAddress: string): Promise<void> {
    const limiter = this.#limiter;
    if (limiter === undefined) return;
    const address = addressKey(ipAddress);
    await this.#count(limiter, perAddress, address);
    const ofClient = await limiter.beginGuess(perClient, clientId, { wait: false });
    if (ofClient.allowed) this.#begun.push({ rule: perClient, key: clientId });
    const both = hash('sha256', `${clientId}\0${address}`, 'base64url');
    await this.#count(limiter, ofClient.allowed ? perClientAndAddress : underAttack, both);
  }

  /**
   * A guess that succeeded makes the failed ones of this client at this address forgotten; an attacker with one valid
   * client must gain none on the other limits.
   */
  async end(outcome: 'failed' | 'withdrawn' | 'succeeded'): Promise<void> {
    const limiter = this.#limiter;
    if (limiter === undefined) return;
    const others = outcome === 'failed' ? 'failed' : 'withdrawn';
    await Promise.all(
      this.#begun.map(({ rule, key }) => {
        const isForgiven = outcome === 'succeeded' && rule.name === perClientAndAddress.name;
        return limiter.endGuess(rule, key, isForgiven ? 'forgiven' : others);
      }),
    );
  }

  async #count(limiter: Limiter, rule: LimitRule, key: string): Promise<void> {
    const { allowed, busy, retryAfterSeconds } = await limiter.beginGuess(rule, key);
    if (allowed) {
      this.#begun.push({ rule, key });
      return;
    }
    // It is not checked, so it is no guess.
    await this.end('withdrawn');
    if (busy)
      throw temporarilyUnavailable(new Error('Too many secrets are being verified.'), retryAfterSeconds);
    throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds });
  }
}

interface Counted {
  readonly rule: LimitRule;
  readonly key: string;
}
