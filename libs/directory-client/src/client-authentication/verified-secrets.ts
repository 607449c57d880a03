import { hash } from 'node:crypto';
import { boundedCache, type BoundedCache, type Clock, type Random } from '@tessera/kit';

/** The maximum age, in case a change is missed. */
const maximumAgeMs = 3_600_000;

/** How often the use of a cached secret is reported to the directory, which records the last use of each. */
const reportIntervalMs = 300_000;

/** In clients. */
const capacity = 25_000;

interface VerifiedSecret {
  readonly digest: string;
  readonly tenantId: string;
  readonly verifiedAt: number;
  /** When a use was last reported to the directory. */
  reportedAt: number;
  /** Seconds since the Unix epoch; 0 when the secret does not expire. */
  readonly expiresAt: number;
}

export interface VerifiedSecretsDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Whether changes reach this process now; if not, no secret is trusted for longer than `unwatchedMs`. */
  readonly watched: () => boolean;
  readonly unwatchedMs: number;
}

/**
 * Client secrets that the directory has verified, as digests with a key that exists only in this process. They need no
 * timing-safe comparison, because an attacker can neither predict nor see one. An HMAC would cost ten times as much.
 */
export class VerifiedSecrets {
  readonly #deps: VerifiedSecretsDeps;
  readonly #key: string;
  readonly #byClient: BoundedCache<readonly VerifiedSecret[]>;

  constructor(deps: VerifiedSecretsDeps) {
    this.#deps = deps;
    this.#key = deps.random.bytes(32).toString('base64url');
    this.#byClient = boundedCache(capacity);
  }

  digest(clientId: string, secret: string): string {
    return hash('sha256', `${this.#key}${clientId}\0${secret}`, 'base64url');
  }

  has(clientId: string, digest: string): boolean {
    const secret = this.#find(clientId, digest);
    if (secret === undefined) return false;
    const now = this.#deps.clock.now();
    if (secret.expiresAt !== 0 && now >= secret.expiresAt * 1000) return false;
    const age = now - secret.verifiedAt;
    return age >= 0 && age <= (this.#deps.watched() ? maximumAgeMs : this.#deps.unwatchedMs);
  }

  /** Whether the caller is to report the use to the directory: true for one caller every few minutes. */
  takeReport(clientId: string, digest: string): boolean {
    const secret = this.#find(clientId, digest);
    const now = this.#deps.clock.now();
    if (secret === undefined || now - secret.reportedAt < reportIntervalMs) return false;
    secret.reportedAt = now;
    return true;
  }

  /** An application has at most two secrets, so two are kept. */
  add(clientId: string, secret: Omit<VerifiedSecret, 'verifiedAt' | 'reportedAt'>): void {
    const others = (this.#byClient.get(clientId) ?? []).filter((other) => other.digest !== secret.digest);
    const now = this.#deps.clock.now();
    const verified = { ...secret, verifiedAt: now, reportedAt: now };
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
