import { hash } from 'node:crypto';
import { boundedCache, type BoundedCache, type Clock, type Random } from '@tessera/kit';

/** The net under changes that are missed. */
const maximumAgeMs = 3_600_000;

/** How often the directory, which keeps the last use of each secret, hears of one in steady use. */
const tellEveryMs = 300_000;

/** How many clients' secrets are held. */
const capacity = 10_000;

interface VerifiedSecret {
  readonly digest: string;
  readonly tenantId: string;
  readonly verifiedAt: number;
  /** When the directory last heard of a use, or was about to. */
  toldAt: number;
  /** Seconds since the Unix epoch; 0 when the secret does not expire. */
  readonly expiresAt: number;
}

export interface VerifiedSecretsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Whether changes reach this process at present; while not, nothing is trusted for longer than `unguardedMs`. */
  readonly guarded: () => boolean;
  readonly unguardedMs: number;
}

/**
 * Client secrets that the directory has verified, as digests under a key that lives and dies with the process. Equal
 * digests may be compared in the ordinary way: nobody outside can predict one, nor see one and go on from it, for which
 * an HMAC would be needed at ten times the cost.
 */
export class VerifiedSecrets {
  readonly #options: VerifiedSecretsOptions;
  readonly #key: string;
  readonly #byClient: BoundedCache<readonly VerifiedSecret[]>;

  constructor(options: VerifiedSecretsOptions) {
    this.#options = options;
    this.#key = options.random.bytes(32).toString('base64url');
    this.#byClient = boundedCache(capacity);
  }

  digest(clientId: string, secret: string): string {
    return hash('sha256', `${this.#key}${clientId}\0${secret}`, 'base64url');
  }

  has(clientId: string, digest: string): boolean {
    const secret = this.#find(clientId, digest);
    if (secret === undefined) return false;
    const now = this.#options.clock.now();
    if (secret.expiresAt !== 0 && now >= secret.expiresAt * 1000) return false;
    const age = now - secret.verifiedAt;
    return age >= 0 && age <= (this.#options.guarded() ? maximumAgeMs : this.#options.unguardedMs);
  }

  /** Whether the directory is to hear of a use: true for one caller every few minutes. */
  takeTelling(clientId: string, digest: string): boolean {
    const secret = this.#find(clientId, digest);
    const now = this.#options.clock.now();
    if (secret === undefined || now - secret.toldAt < tellEveryMs) return false;
    secret.toldAt = now;
    return true;
  }

  /** An application has two secrets at most, so two are held. */
  add(clientId: string, secret: Omit<VerifiedSecret, 'verifiedAt' | 'toldAt'>): void {
    const others = (this.#byClient.get(clientId) ?? []).filter((other) => other.digest !== secret.digest);
    const now = this.#options.clock.now();
    const verified = { ...secret, verifiedAt: now, toldAt: now };
    this.#byClient.set(clientId, [verified, ...others].slice(0, 2));
  }

  drop(clientId: string): void {
    this.#byClient.delete(clientId);
  }

  dropTenant(tenantId: string): void {
    const dropped = Array.from(this.#byClient.entries()).filter(([, secrets]) =>
      secrets.some((secret) => secret.tenantId === tenantId),
    );
    for (const [clientId] of dropped) this.#byClient.delete(clientId);
  }

  clear(): void {
    this.#byClient.clear();
  }

  #find(clientId: string, digest: string): VerifiedSecret | undefined {
    return this.#byClient.get(clientId)?.find((candidate) => candidate.digest === digest);
  }
}
