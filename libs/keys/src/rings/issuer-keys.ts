import { setTimeout as pause } from 'node:timers/promises';
import type { Runtime } from '@tessera/process';
import { defaultSigningAlgorithm, signingAlgorithmNames, type SigningAlgorithmName } from '@tessera/oauth';
import { createFirstKeys, type FirstKeys } from './first-keys.ts';
import { byAlgorithm, createHeldKeys, ringOf } from './held-keys.ts';
import { generateSigningKey } from './key-pair.ts';
import type { KeyWrapper } from './key-wrapper.ts';
import { dueStep, publicationAge } from './schedule.ts';
import type { Schedule, Step } from './schedule.ts';
import type { SigningKey } from '../signer.ts';
import type { KeyStore, Origin, StoredKey, Withdrawal } from '../store.ts';

/**
 * The keys of an issuer in this process, a ring for each algorithm that the issuer's tokens need: reloaded every few
 * seconds, and kept while the store is unavailable.
 */
export interface IssuerKeys extends FirstKeys {
  /**
   * The active key. Throws `temporarily_unavailable` if there is none, none confirmed for too long, or one so young
   * that not every key set has it.
   */
  current(algorithm: SigningAlgorithmName): SigningKey;
  /**
   * The keys to publish, by algorithm, newest first. Throws `temporarily_unavailable` before the first successful load.
   */
  published(): readonly StoredKey[];
  /** The keys to publish as they are stored now, by algorithm, newest first. */
  stored(): Promise<readonly StoredKey[]>;
  /** Seconds since each active key was activated, and since the store confirmed it. */
  ages(): readonly { algorithm: SigningAlgorithmName; active: number; confirmed: number }[];
  /** Whether tokens can be signed with the default algorithm. */
  isUsable(): boolean;
  /** Reloads the keys. Rejects if it cannot. */
  refresh(): Promise<void>;
  /**
   * Takes the steps of the schedule that are due by the keys last loaded, one for each ring. Rejects if it cannot, and
   * if there is no key although another process has to generate it.
   */
  advance(): Promise<void>;
  /**
   * Rotates every ring on request and resolves with the keys that sign from now on. With `immediately` it waits until
   * the next keys are published everywhere, for `announcement` at most, in place of the lead.
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

/**
 * Seconds until the first key of a ring is in every key set: gateways serve their copy for a second, `token` asks for
 * an unknown key once a second, and whoever asks a process of `keys` that does not hold the key has it read first.
 */
const firstKeyLead = 3;

const noKey = 'There is no signing key yet. The first process of the keys service generates it.';
const bySchedule: Origin = { actor: { type: 'system', id: 'keys' } };

export function createIssuerKeys(deps: IssuerKeysDeps): IssuerKeys {
  const { store, schedule, announcement, followsSchedule, retention, runtime } = deps;
  const leastLead = Math.min(firstKeyLead, schedule.publicationLead);
  const held = createHeldKeys({ wrapper: deps.wrapper, leastLead, retention, runtime });
  let loaded: readonly StoredKey[] = [];
  let last: Promise<void> = Promise.resolve();

  async function read(): Promise<void> {
    loaded = await store.load();
    await held.adopt(loaded);
  }

  /** Runs one refresh after the other, so that a refresh that starts after a commit sees it. */
  function refresh(): Promise<void> {
    last = last.catch(() => undefined).then(read);
    return last;
  }

  const first = createFirstKeys({
    has: held.has,
    refresh,
    establish: async (algorithm) => perform('establish', algorithm, deps),
  });

  async function advance(): Promise<void> {
    if (!followsSchedule) {
      if (!held.has(defaultSigningAlgorithm)) throw new Error(noKey);
      return;
    }
    const due = signingAlgorithmNames.flatMap((algorithm) => {
      const ring = ringOf(loaded, algorithm);
      const step = dueStep(ring, schedule);
      const isOthers = algorithm !== defaultSigningAlgorithm && !signs(ring);
      return step === undefined || isOthers ? [] : [{ step, algorithm }];
    });
    for (const { step, algorithm } of due) await perform(step, algorithm, deps);
    if (due.length > 0) await refresh();
  }

  async function rotate(immediately: boolean, origin: Origin): Promise<SigningKey[]> {
    const keys = await store.load();
    const algorithms = signingAlgorithmNames.filter((algorithm) => signs(ringOf(keys, algorithm)));
    for (const algorithm of algorithms) {
      if (ringOf(keys, algorithm).some((key) => key.state === 'published')) continue;
      await store.publish(await generateSigningKey(algorithm, deps.wrapper), 0, origin);
    }
    const lead = Math.min(immediately ? announcement : Infinity, schedule.publicationLead);
    if (immediately) await untilPublishedFor(lead, store);
    for (const algorithm of algorithms) await store.activate(algorithm, lead, origin);
    await refresh();
    held.current(defaultSigningAlgorithm);
    return held.all();
  }

  async function withdraw(kid: string, origin: Origin): Promise<Withdrawal> {
    const outcome = await store.withdraw(kid, origin);
    if (outcome === 'withdrawn') await refresh();
    return outcome;
  }

  return {
    current: held.current,
    published: held.published,
    ages: held.ages,
    begin: first.begin,
    look: first.look,
    isUsable: () => held.has(defaultSigningAlgorithm) && held.isFresh(),
    stored: async () => byAlgorithm(await store.load()),
    refresh,
    advance,
    rotate,
    withdraw,
  };
}

function signs(ring: readonly StoredKey[]): boolean {
  return ring.some(({ state }) => state === 'active');
}

/** Resolves once the next keys have been in the store for so many seconds. */
async function untilPublishedFor(seconds: number, store: KeyStore): Promise<void> {
  const next = (await store.load()).filter(({ state }) => state === 'published');
  const missing = Math.max(0, ...next.map(({ publishedFor }) => seconds - publishedFor));
  // A little longer: the age that counts is that of the database.
  if (missing > 0) await pause(missing * 1000 + 20);
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
