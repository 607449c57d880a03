import { boundedCache, type Clock } from '@tessera/kit';
import type { Logger } from '@tessera/telemetry';
import { keyCopyTrustedForMs, temporarilyUnavailable, type PublicJwk } from '@tessera/oauth';

/**
 * A copy younger than this is served without a call. The first key of an algorithm signs three seconds after it was
 * published.
 */
const freshMs = 1_000;
/** After a failure the next fetch waits this long. */
const pauseMs = 1_000;

/**
 * The JWK Set document (RFC 7517 §5), encoded once per fetch. While `keys` is unavailable the last good copy is served
 * for a day.
 */
export interface KeySet {
  /** Throws `temporarily_unavailable` when there is no good copy that is young enough. */
  document(): Promise<string>;
  /** The document, if it needs no call. */
  fresh(): string | undefined;
  /** Seconds since the copy was fetched, even if it is too old to be used; undefined if there has never been one. */
  ageSeconds(): number | undefined;
}

/** The key sets of all issuers. */
export interface KeySets {
  /** Of a tenant with an issuer of its own, or of the shared issuer if it is undefined. */
  of(tenant: { readonly tenantId: string } | undefined): KeySet;
}

/** Tenants whose key set is kept, about 2 KiB each. */
const keptKeySets = 2_000;

export function createKeySets(open: (tenantId: string) => KeySet): KeySets & { readonly shared: KeySet } {
  const shared = open('');
  const ofTenants = boundedCache<KeySet>(keptKeySets);
  return {
    shared,
    of(tenant) {
      if (tenant === undefined) return shared;
      const keySet = ofTenants.get(tenant.tenantId) ?? open(tenant.tenantId);
      ofTenants.set(tenant.tenantId, keySet);
      return keySet;
    },
  };
}

export interface KeySetDeps {
  /** Asks `keys`, with a deadline. */
  readonly fetch: () => Promise<readonly PublicJwk[]>;
  readonly clock: Clock;
  readonly log: Logger;
}

export function createKeySet(deps: KeySetDeps): KeySet {
  let copy: { readonly document: string; readonly fetchedAt: number } | undefined;
  let failedAt = -Infinity;
  let pending: Promise<void> | undefined;

  const refresh = async () => {
    try {
      const keys = await deps.fetch();
      if (keys.length === 0) throw new Error('keys answered with an empty key set');
      copy = { document: JSON.stringify({ keys }), fetchedAt: deps.clock.now() };
    } catch (error) {
      failedAt = deps.clock.now();
      deps.log.warn({ err: error }, 'cannot fetch the public keys');
    } finally {
      pending = undefined;
    }
  };

  const youngerThan = (milliseconds: number) =>
    copy !== undefined && deps.clock.now() - copy.fetchedAt < milliseconds ? copy.document : undefined;
  const fresh = () => youngerThan(freshMs);
  const lastGood = () => youngerThan(keyCopyTrustedForMs);

  return {
    fresh,
    ageSeconds: () => (copy === undefined ? undefined : (deps.clock.now() - copy.fetchedAt) / 1000),
    document: async () => {
      const current = fresh();
      if (current !== undefined) return current;
      const isDue = deps.clock.now() - failedAt >= pauseMs;
      if (isDue || lastGood() === undefined) await (pending ??= refresh());
      const document = lastGood();
      if (document === undefined) throw temporarilyUnavailable();
      return document;
    },
  };
}
