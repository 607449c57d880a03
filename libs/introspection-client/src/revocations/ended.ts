import { boundedCache } from '../answer-cache.ts';
import type { ActiveToken, Revocation, RevocationKind } from '../introspector-types.ts';

interface Entry {
  /** Seconds since the Unix epoch. */
  readonly endedAt: number;
  /** When it was received, in milliseconds of `performance.now()`. */
  readonly heardAt: number;
}

/** The longest possible lifetime of an access token. */
const keptMs = 24 * 3_600_000;
const capacity = 100_000;

/** Revocations by what they affect, so that a token needs only a few look-ups. Bounded. */
export class Ended {
  readonly #entries = boundedCache<Entry>(capacity, keptMs);
  readonly #kinds: ReadonlySet<RevocationKind>;

  constructor(kinds: readonly RevocationKind[]) {
    this.#kinds = new Set(kinds);
  }

  add(revocation: Revocation): void {
    if (revocation.kind !== 'access_token' && !this.#kinds.has(revocation.kind)) return;
    const key = keyOf(revocation);
    const endedAt = Math.max(revocation.endedAt, this.#entries.get(key)?.endedAt ?? 0);
    this.#entries.set(key, { endedAt, heardAt: performance.now() });
  }

  /** Whether the access token itself was revoked. */
  names({ tenantId, jti }: ActiveToken): boolean {
    return this.#entries.has(`access_token ${tenantId} ${jti}`);
  }

  /** Whether the token was issued before a revocation that affects it. */
  concerns(token: ActiveToken): boolean {
    return this.#entriesOf(token).some((entry) => token.iat <= entry.endedAt);
  }

  /** Whether a revocation that affects the token was received since then. */
  since(token: ActiveToken, heardAt: number): boolean {
    return this.#entriesOf(token).some((entry) => entry.heardAt >= heardAt);
  }

  #entriesOf({ tenantId, sub, clientId, jti }: ActiveToken): Entry[] {
    if (this.#entries.size === 0) return [];
    const keys = [
      `tenant ${tenantId}`,
      `application ${tenantId} ${clientId}`,
      `subject ${tenantId} ${sub}`,
      `session ${tenantId} ${sub}`,
      `refresh_family ${tenantId} ${sub} ${clientId}`,
      `access_token ${tenantId} ${jti}`,
    ];
    return keys.map((key) => this.#entries.get(key)).filter((entry) => entry !== undefined);
  }
}

function keyOf({ kind, tenantId, sub, clientId, jti }: Revocation): string {
  switch (kind) {
    case 'tenant':
      return `tenant ${tenantId}`;
    case 'application':
      return `application ${tenantId} ${clientId}`;
    case 'subject':
    case 'session':
      return `${kind} ${tenantId} ${sub}`;
    case 'refresh_family':
      return `refresh_family ${tenantId} ${sub} ${clientId}`;
    case 'access_token':
      return `access_token ${tenantId} ${jti}`;
  }
}
