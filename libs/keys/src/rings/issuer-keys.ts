import { createPrivateKey } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Runtime } from '@tessera/process';
import {
  defaultSigningAlgorithm,
  signingAlgorithmNames,
  temporarilyUnavailable,
  type SigningAlgorithmName,
} from '@tessera/oauth';
import { generateSigningKey } from './key-pair.ts';
import type { KeyWrapper } from './key-wrapper.ts';
import { dueStep, publicationAge } from './schedule.ts';
import type { Schedule, Step } from './schedule.ts';
import { signingKey } from '../signer.ts';
import type { SigningKey } from '../signer.ts';
import type { KeyStore, Origin, StoredKey, Withdrawal } from '../store.ts';

/**
 * The keys of an issuer in this process, a ring for each algorithm: reloaded every few seconds, and kept while the store is
 * unavailable.
 */
export interface IssuerKeys {
  /** The active key. Throws `temporarily_unavailable` if there is none, or none confirmed for too long. */
  current(algorithm: SigningAlgorithmName): SigningKey;
  /** The keys to publish, by algorithm, newest first. Throws `temporarily_unavailable` before the first successful load. */
  published(): readonly StoredKey[];
  /** The keys to publish as they are stored now, by algorithm, newest first. */
  stored(): Promise<readonly StoredKey[]>;
  /** Seconds since each active key was activated, and since the store confirmed it. */
  ages(): readonly { algorithm: SigningAlgorithmName; active: number; confirmed: number }[];
  /** Whether tokens can be signed with the default algorithm; and with every algorithm. */
  isUsable(): boolean;
  isComplete(): boolean;
  /** Reloads the keys. Rejects if it cannot. */
  refresh(): Promise<void>;
  /**
   * Takes the steps of the schedule that are due by the keys last loaded, one for each ring. Rejects if it cannot, and if there is no key
   * although another process has to generate it.
   */
  advance(): Promise<void>;
  /**
   * Rotates every ring on request and resolves with the keys that sign from now on. With `immediately` it waits until the next keys are
   * published everywhere, for `announcement` at most, in place of the lead.
   */
  rotate(immediately: boolean, origin: Origin): Promise<SigningKey[]>;
  /** Removes a retired key from the published keys. */
  withdraw(kid: string, origin: Origin): Promise<Withdrawal>;
}

export interface IssuerKeysDeps {
  readonly store: KeyStore;
  readonly wrapper: KeyWrapper;
  readonly schedule: Schedule;
  /** Seconds until a key that was stored is in every key set that our processes publish. */
  readonly announcement: number;
  /** Whether `advance` follows the schedule. If not, other processes do. */
  readonly followsSchedule: boolean;
  /** Seconds a retired key stays published. */
  readonly retention: number;
  readonly runtime: Pick<Runtime, 'clock' | 'log'>;
}

const noKey = 'There is no signing key yet. The first process of the keys service generates it.';
const bySchedule: Origin = { actor: { type: 'system', id: 'keys' } };

export function createIssuerKeys(deps: IssuerKeysDeps): IssuerKeys {
  const { store, schedule, announcement, followsSchedule, retention, runtime } = deps;
  const unwrap = unwrapping(deps.wrapper);
  const active = new Map<SigningAlgorithmName, SigningKey>();
  let known: readonly StoredKey[] | undefined;
  let loaded: readonly StoredKey[] = [];
  let confirmedAt = 0;
  let last: Promise<void> = Promise.resolve();

  // A process without the store may sign with a key that another process has retired. It stops after half of the retention, so that
  // the tokens it signed can be verified during the other half.
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
  }

  async function read(): Promise<void> {
    loaded = await store.load();
    await adopt(loaded);
  }

  /** Runs one refresh after the other, so that a refresh that starts after a commit sees it. */
  function refresh(): Promise<void> {
    last = last.catch(() => undefined).then(read);
    return last;
  }

  async function advance(): Promise<void> {
    if (!followsSchedule) {
      if (!active.has(defaultSigningAlgorithm)) throw new Error(noKey);
      return;
    }
    const due = signingAlgorithmNames.flatMap((algorithm) => {
      const step = dueStep(ringOf(loaded, algorithm), schedule);
      return step === undefined ? [] : [{ step, algorithm }];
    });
    for (const { step, algorithm } of due) await perform(step, algorithm, deps);
    if (due.length > 0) await refresh();
  }

  async function rotate(immediately: boolean, origin: Origin): Promise<SigningKey[]> {
    const keys = await store.load();
    for (const algorithm of signingAlgorithmNames) {
      if (ringOf(keys, algorithm).some((key) => key.state === 'published')) continue;
      await store.publish(await generateSigningKey(algorithm, deps.wrapper), 0, origin);
    }
    const lead = Math.min(immediately ? announcement : Infinity, schedule.publicationLead);
    if (immediately) await untilPublishedFor(lead, store);
    for (const algorithm of signingAlgorithmNames) await store.activate(algorithm, lead, origin);
    await refresh();
    signing(defaultSigningAlgorithm);
    return [...active.values()];
  }

  async function withdraw(kid: string, origin: Origin): Promise<Withdrawal> {
    const outcome = await store.withdraw(kid, origin);
    if (outcome === 'withdrawn') await refresh();
    return outcome;
  }

  const isFresh = () => runtime.clock.now() - confirmedAt <= confirmedFor;

  function signing(algorithm: SigningAlgorithmName): SigningKey {
    const key = active.get(algorithm);
    if (key === undefined || !isFresh()) throw temporarilyUnavailable();
    return key;
  }

  return {
    current: signing,
    ages() {
      const confirmed = (runtime.clock.now() - confirmedAt) / 1000;
      return (known ?? []).flatMap(({ algorithm, state, activeFor = 0 }) =>
        state === 'active' ? [{ algorithm, active: activeFor + confirmed, confirmed }] : [],
      );
    },
    isUsable: () => active.has(defaultSigningAlgorithm) && isFresh(),
    isComplete: () => signingAlgorithmNames.every((algorithm) => active.has(algorithm)) && isFresh(),
    published() {
      if (known === undefined) throw temporarilyUnavailable();
      return known;
    },
    stored: async () => byAlgorithm(await store.load()),
    refresh,
    advance,
    rotate,
    withdraw,
  };
}

const pkcs8 = { format: 'der', type: 'pkcs8' } as const;

/**
 * Resolves with the active keys among those loaded, each unwrapped once. Their successors are unwrapped in advance, so that the first use
 * does not wait.
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

/** Resolves once the next keys have been in the store for so many seconds. */
async function untilPublishedFor(seconds: number, store: KeyStore): Promise<void> {
  const next = (await store.load()).filter(({ state }) => state === 'published');
  const missing = Math.max(0, ...next.map(({ publishedFor }) => seconds - publishedFor));
  // A little longer: the age that counts is that of the database.
  if (missing > 0) await pause(missing * 1000 + 20);
}

function ringOf(keys: readonly StoredKey[], algorithm: SigningAlgorithmName): StoredKey[] {
  return keys.filter((key) => key.algorithm === algorithm);
}

/** The default first: clients that do not look for the `kid` take the first key. */
function byAlgorithm(keys: readonly StoredKey[]): StoredKey[] {
  return signingAlgorithmNames.flatMap((algorithm) => ringOf(keys, algorithm));
}

async function perform(
  step: Step,
  algorithm: SigningAlgorithmName,
  { store, wrapper, schedule }: IssuerKeysDeps,
): Promise<void> {
  if (step === 'activate') {
    await store.activate(algorithm, schedule.publicationLead, bySchedule);
    return;
  }
  const key = await generateSigningKey(algorithm, wrapper);
  if (step === 'establish') await store.establish(key, bySchedule);
  else await store.publish(key, publicationAge(schedule), bySchedule);
}
