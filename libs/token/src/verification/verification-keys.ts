import { awaitShared, rootCall, sharedCall } from '@tessera/rpc';
import type { CallOptions, Client } from '@tessera/rpc';
import { type Kit } from '@tessera/process';
import { keyCopyTrustedForMs, temporarilyUnavailable } from '@tessera/oauth';
import type { KeysService, PublicKey } from '@tessera/proto-gen/keys';
import { importJWK, type CryptoKey } from 'jose';

/** The public keys of our own tokens. The last good set is kept while `keys` is away. */
export interface VerificationKeys {
  /** Whether the key set in hand has this key; asks nobody. */
  has(kid: string): boolean;
  /**
   * The key named `kid`, at once if it is in hand; undefined when there is none. Throws `temporarily_unavailable`
   * when that cannot be told: the key is not in hand and `keys` did not answer.
   * @param onward asked for the options of a call to `keys`, where an answer of it is waited for
   */
  find(kid: string, onward: () => CallOptions): CryptoKey | Promise<CryptoKey | undefined>;
}

const refreshAfterMs = 60_000;
const askAgainAfterMs = 1_000;

interface KeySet {
  readonly keys: ReadonlyMap<string, CryptoKey>;
  readonly fetchedAt: number;
}

/** Keys are fetched when first needed, once a minute while they are used, and for an unknown `kid` once a second at most. */
export function createVerificationKeys(
  keys: Client<typeof KeysService>,
  kit: Pick<Kit, 'clock' | 'log'>,
): VerificationKeys {
  let current: KeySet | undefined;
  let askedAt = -Infinity;
  let failure: unknown;
  let asking: Promise<void> | undefined;

  /** One question at a time; whoever comes meanwhile waits for its answer. It is nobody's own: nobody's end is its end. */
  function ask(call: CallOptions): Promise<void> {
    asking ??= (async () => {
      askedAt = kit.clock.now();
      try {
        const answer = await keys.getPublicKeys({}, sharedCall(call));
        const imported = await Promise.all(answer.keys.map(keyEntry));
        current = { keys: new Map(imported), fetchedAt: kit.clock.now() };
        failure = undefined;
      } catch (error) {
        failure = error;
        kit.log.warn({ err: error }, 'public keys could not be fetched');
      } finally {
        asking = undefined;
      }
    })();
    return asking;
  }

  function inHand(): KeySet | undefined {
    return current !== undefined && kit.clock.now() - current.fetchedAt < keyCopyTrustedForMs
      ? current
      : undefined;
  }

  function mayAsk(): boolean {
    return kit.clock.now() - askedAt >= askAgainAfterMs;
  }

  async function findUnknown(kid: string, onward: () => CallOptions): Promise<CryptoKey | undefined> {
    if (mayAsk() || asking !== undefined) {
      const call = onward();
      await awaitShared(ask(call), call);
    }
    const found = inHand()?.keys.get(kid);
    if (found === undefined && (failure !== undefined || inHand() === undefined))
      throw temporarilyUnavailable(failure);
    return found;
  }

  return {
    has: (kid) => inHand()?.keys.has(kid) ?? false,
    find(kid, onward) {
      const known = inHand()?.keys.get(kid);
      if (known === undefined) return findUnknown(kid, onward);
      const isOld = kit.clock.now() - (current?.fetchedAt ?? 0) >= refreshAfterMs;
      if (isOld && mayAsk()) void ask(rootCall('public-keys'));
      return known;
    },
  };
}

async function keyEntry({ kid, n, e }: PublicKey): Promise<[string, CryptoKey]> {
  return [kid, await importJWK({ kty: 'RSA', n, e }, 'RS256')];
}
