import { boundedCache } from './bounded-cache.ts';
import type { ActiveToken, Revocation, RevocationKind } from './types.ts';

interface Mark {
  /** Seconds since the Unix epoch. */
  readonly endedAt: number;
  /** When we heard of it, in the milliseconds of `performance.now()`. */
  readonly heardAt: number;
}

/** As long as an access token can live at most. */
const keptMs = 24 * 3_600_000;
const capacity = 100_000;

/** What ended, by whom it concerned: found by the facts of a token in a few look-ups, and bounded. */
export class Ended {
  readonly #marks = boundedCache<Mark>(capacity, keptMs);
  readonly #kinds: ReadonlySet<RevocationKind>;

  constructor(kinds: readonly RevocationKind[]) {
    this.#kinds = new Set(kinds);
  }

  add(revocation: Revocation): void {
    if (!this.#kinds.has(revocation.kind)) return;
    const key = keyOf(revocation);
    const endedAt = Math.max(revocation.endedAt, this.#marks.get(key)?.endedAt ?? 0);
    this.#marks.set(key, { endedAt, heardAt: performance.now() });
  }

  /** Whether the token was issued before something ended that it stems from. */
  concerns(token: ActiveToken): boolean {
    return this.#marksOf(token).some((mark) => token.iat <= mark.endedAt);
  }

  /** Whether something ended that concerns the token and that was not yet heard of then. */
  since(token: ActiveToken, heardAt: number): boolean {
    return this.#marksOf(token).some((mark) => mark.heardAt >= heardAt);
  }

  #marksOf({ tenantId, sub, clientId }: ActiveToken): Mark[] {
    if (this.#marks.size === 0) return [];
    const keys = [
      `tenant ${tenantId}`,
      `application ${tenantId} ${clientId}`,
      `subject ${tenantId} ${sub}`,
      `session ${tenantId} ${sub}`,
      `refresh_family ${tenantId} ${sub} ${clientId}`,
    ];
    return keys.map((key) => this.#marks.get(key)).filter((mark) => mark !== undefined);
  }
}

function keyOf({ kind, tenantId, sub, clientId }: Revocation): string {
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
  }
}
