import { createPrivateKey } from 'node:crypto';
import type { Runtime } from '@tessera/process';
import {
  defaultSigningAlgorithm,
  signingAlgorithmNames,
  temporarilyUnavailable,
  type SigningAlgorithmName,
} from '@tessera/oauth';
import type { KeyWrapper } from './key-wrapper.ts';
import { signingKey } from '../signer.ts';
import type { SigningKey } from '../signer.ts';
import type { StoredKey } from '../store.ts';

/** The keys of an issuer that this process has read last; they are kept while the store is unavailable. */
export interface HeldKeys {
  /** Takes the keys that the store has now. Changes nothing if none of them signs with the default algorithm. */
  adopt(keys: readonly StoredKey[]): Promise<void>;
  has(algorithm: SigningAlgorithmName): boolean;
  /** Whether the store has confirmed the keys lately. */
  isFresh(): boolean;
  /** As of IssuerKeys. */
  current(algorithm: SigningAlgorithmName): SigningKey;
  /** Every key that signs. */
  all(): SigningKey[];
  /** As of IssuerKeys. */
  published(): readonly StoredKey[];
  ages(): readonly { algorithm: SigningAlgorithmName; active: number; confirmed: number }[];
}

export function createHeldKeys(deps: {
  readonly wrapper: KeyWrapper;
  /**
   * Seconds that the first key of a ring is published before it signs; that of the default algorithm comes with the
   * issuer.
   */
  readonly leastLead: number;
  /** Seconds a retired key stays published. */
  readonly retention: number;
  readonly runtime: Pick<Runtime, 'clock' | 'log'>;
}): HeldKeys {
  const { leastLead, retention, runtime } = deps;
  const unwrap = unwrapping(deps.wrapper);
  const active = new Map<SigningAlgorithmName, SigningKey>();
  /** When each of them will be in every key set, in milliseconds since the Unix epoch. */
  const announcedAt = new Map<SigningAlgorithmName, number>();
  let known: readonly StoredKey[] | undefined;
  let confirmedAt = 0;

  // A process without the store may sign with a key that another process has retired. It stops after half of the
  // retention, so that the tokens it signed can be verified during the other half.
  const confirmedFor = (retention * 1000) / 2;

  async function adopt(keys: readonly StoredKey[]): Promise<void> {
    if (!keys.some(({ algorithm, state }) => algorithm === defaultSigningAlgorithm && state === 'active')) {
      return;
    }
    known = byAlgorithm(keys);
    const next = await unwrap(keys);
    for (const algorithm of signingAlgorithmNames) {
      const key = next.get(algorithm);
      if (key === undefined) active.delete(algorithm);
      else if (active.get(algorithm)?.kid !== key.kid) {
        runtime.log.info({ kid: key.kid, algorithm }, 'signing key in use');
        active.set(algorithm, key);
      }
    }
    confirmedAt = runtime.clock.now();
    for (const { algorithm, state, publishedFor } of keys) {
      if (state !== 'active') continue;
      const missing = algorithm === defaultSigningAlgorithm ? 0 : Math.max(0, leastLead - publishedFor);
      announcedAt.set(algorithm, confirmedAt + missing * 1000);
    }
  }

  const isFresh = () => runtime.clock.now() - confirmedAt <= confirmedFor;

  return {
    adopt,
    has: (algorithm) => active.has(algorithm),
    isFresh,
    current(algorithm) {
      const key = active.get(algorithm);
      const isAnnounced = runtime.clock.now() >= (announcedAt.get(algorithm) ?? Infinity);
      if (key === undefined || !isFresh() || !isAnnounced) throw temporarilyUnavailable();
      return key;
    },
    all: () => [...active.values()],
    published() {
      if (known === undefined) throw temporarilyUnavailable();
      return known;
    },
    ages() {
      const confirmed = (runtime.clock.now() - confirmedAt) / 1000;
      return (known ?? []).flatMap(({ algorithm, state, activeFor = 0 }) =>
        state === 'active' ? [{ algorithm, active: activeFor + confirmed, confirmed }] : [],
      );
    },
  };
}

export function ringOf(keys: readonly StoredKey[], algorithm: SigningAlgorithmName): StoredKey[] {
  return keys.filter((key) => key.algorithm === algorithm);
}

/** The default first: clients that do not look for the `kid` take the first key. */
export function byAlgorithm(keys: readonly StoredKey[]): StoredKey[] {
  return signingAlgorithmNames.flatMap((algorithm) => ringOf(keys, algorithm));
}

const pkcs8 = { format: 'der', type: 'pkcs8' } as const;

/**
 * Resolves with the active keys among those loaded, each unwrapped once. Their successors are unwrapped in advance, so
 * that the first use does not wait.
 */
function unwrapping(
  wrapper: KeyWrapper,
): (keys: readonly StoredKey[]) => Promise<ReadonlyMap<SigningAlgorithmName, SigningKey>> {
  const unwrapped = new Map<string, SigningKey>();

  async function unwrap({ kid, algorithm, wrappedPrivateKey = '' }: StoredKey): Promise<SigningKey> {
    const cached = unwrapped.get(kid);
    if (cached !== undefined) return cached;
    const der = await wrapper.unwrap(kid, wrappedPrivateKey);
    const fresh = signingKey(algorithm, kid, createPrivateKey({ key: der, ...pkcs8 }));
    der.fill(0);
    unwrapped.set(kid, fresh);
    return fresh;
  }

  return async (keys) => {
    const usable = keys.filter(({ state }) => state !== 'retired');
    for (const kid of unwrapped.keys()) if (!usable.some((key) => key.kid === kid)) unwrapped.delete(kid);
    const active = new Map<SigningAlgorithmName, SigningKey>();
    for (const key of usable) {
      const own = await unwrap(key);
      if (key.state === 'active') active.set(key.algorithm, own);
    }
    return active;
  };
}
