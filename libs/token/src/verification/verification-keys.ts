import { awaitShared, rootCall, sharedCall } from '@tessera/rpc';
import type { CallOptions, Client } from '@tessera/rpc';
import type { DirectoryClient } from '@tessera/directory-client';
import { boundedCache } from '@tessera/kit';
import { type Runtime } from '@tessera/process';
import {
  keyCopyTrustedForMs,
  sentJwk,
  signingAlgorithmNames,
  temporarilyUnavailable,
  type SigningAlgorithmName,
} from '@tessera/oauth';
import type { KeysService, PublicKey } from '@tessera/proto-gen/keys';
import type { CryptoKey } from 'jose';
import { importJWK } from 'jose/key/import';

/** A public key, and the tenant whose own issuer it is of; empty for the shared issuer. */
export interface FoundKey {
  readonly key: CryptoKey;
  readonly tenantId: string;
}

/** The header members of a token that name its key. */
export interface KeyHeader {
  readonly alg: SigningAlgorithmName;
  readonly kid: string;
}

/** The public keys of all issuers of this server. */
export interface VerificationKeys {
  /** Whether the current key set of this tenant, or of the shared issuer, has this key, without fetching. */
  has(kid: string, tenantId: string): boolean;
  /**
   * The key for the header of a token, of the issuer that it names; undefined if there is none. Throws
   * `temporarily_unavailable` if the keys must be fetched and cannot be.
   */
  find(header: KeyHeader, issuer: string, onward: () => CallOptions): Promise<FoundKey | undefined>;
}

/** Tenants whose public keys are kept, about 3 KiB each. */
const keptTenants = 2_000;

export function createVerificationKeys(
  keys: Client<typeof KeysService>,
  directory: Pick<DirectoryClient, 'tenantIssuers'>,
  runtime: Pick<Runtime, 'clock' | 'log'>,
): VerificationKeys {
  const shared = createIssuerKeys(keys, runtime, '');
  const ofTenants = boundedCache<IssuerKeys>(keptTenants);

  function keysOf(tenantId: string): IssuerKeys {
    if (tenantId === '') return shared;
    const known = ofTenants.get(tenantId) ?? createIssuerKeys(keys, runtime, tenantId);
    ofTenants.set(tenantId, known);
    return known;
  }

  return {
    has: (kid, tenantId) => (tenantId === '' ? shared : ofTenants.get(tenantId))?.has(kid) ?? false,
    async find(header, issuer, onward) {
      // Most tokens are of the shared issuer, and no tenant's key has the `kid` of one of its keys.
      const tenantId = shared.has(header.kid) ? '' : ((await directory.tenantIssuers()).get(issuer) ?? '');
      const key = await keysOf(tenantId).find(header, onward);
      return key && { key, tenantId };
    },
  };
}

/** The public keys of one issuer. The last key set is kept while `keys` is unavailable. */
interface IssuerKeys {
  /** Whether the current key set has this key, without fetching. */
  has(kid: string): boolean;
  /**
   * The key for this header, synchronously if it is in the current key set; undefined if there is none. Throws
   * `temporarily_unavailable` if the key is not in the set and `keys` does not answer, or does not know the algorithm
   * yet.
   * @param onward called for the options of a call to `keys`, if one is needed
   */
  find(header: KeyHeader, onward: () => CallOptions): CryptoKey | undefined | Promise<CryptoKey | undefined>;
}

const refreshAfterMs = 60_000;
const refetchAfterMs = 1_000;

interface AcceptedKey {
  readonly algorithm: SigningAlgorithmName;
  readonly key: CryptoKey;
}

interface KeySet {
  readonly keys: ReadonlyMap<string, AcceptedKey>;
  /** Those whose keys it has. */
  readonly algorithms: ReadonlySet<string>;
  readonly fetchedAt: number;
}

/**
 * Fetches the keys when first needed, then once a minute while they are used, and at most once a second for an unknown
 * `kid`.
 */
function createIssuerKeys(
  keys: Client<typeof KeysService>,
  runtime: Pick<Runtime, 'clock' | 'log'>,
  tenantId: string,
): IssuerKeys {
  let current: KeySet | undefined;
  let fetchStartedAt = -Infinity;
  let failure: unknown;
  let fetching: Promise<void> | undefined;

  /** One fetch at a time, shared by its callers: it goes on if one of them is cancelled. */
  function fetchKeys(call: CallOptions): Promise<void> {
    fetching ??= (async () => {
      fetchStartedAt = runtime.clock.now();
      try {
        const asked = { tenantId, algorithms: [...signingAlgorithmNames] };
        const answer = await keys.getPublicKeys(asked, sharedCall(call));
        const imported = await Promise.all(answer.keys.map(keyEntry));
        const algorithms = new Set(answer.algorithms);
        current = { keys: new Map(imported), algorithms, fetchedAt: runtime.clock.now() };
        failure = undefined;
      } catch (error) {
        failure = error;
        runtime.log.warn({ err: error }, 'cannot fetch the public keys');
      } finally {
        fetching = undefined;
      }
    })();
    return fetching;
  }

  function currentSet(): KeySet | undefined {
    return current !== undefined && runtime.clock.now() - current.fetchedAt < keyCopyTrustedForMs
      ? current
      : undefined;
  }

  function mayFetch(): boolean {
    return runtime.clock.now() - fetchStartedAt >= refetchAfterMs;
  }

  async function findUnknown(header: KeyHeader, onward: () => CallOptions): Promise<CryptoKey | undefined> {
    if (mayFetch() || fetching !== undefined) {
      const call = onward();
      await awaitShared(fetchKeys(call), call);
    }
    const set = currentSet();
    const found = set?.keys.get(header.kid);
    if (found !== undefined) return keyFor(header, found);
    if (failure !== undefined || set?.algorithms.has(header.alg) !== true)
      throw temporarilyUnavailable(failure);
    return undefined;
  }

  return {
    has: (kid) => currentSet()?.keys.has(kid) ?? false,
    find(header, onward) {
      const known = currentSet()?.keys.get(header.kid);
      if (known === undefined) return findUnknown(header, onward);
      const isOld = runtime.clock.now() - (current?.fetchedAt ?? 0) >= refreshAfterMs;
      if (isOld && mayFetch()) void fetchKeys(rootCall('public-keys'));
      return keyFor(header, known);
    },
  };
}

/** A key verifies signatures with one algorithm alone (RFC 8725 §3.1). */
function keyFor({ alg }: KeyHeader, { algorithm, key }: AcceptedKey): CryptoKey | undefined {
  return alg === algorithm ? key : undefined;
}

async function keyEntry(sent: PublicKey): Promise<[string, AcceptedKey]> {
  const jwk = sentJwk(sent);
  return [jwk.kid, { algorithm: jwk.alg, key: await importJWK(jwk) }];
}
