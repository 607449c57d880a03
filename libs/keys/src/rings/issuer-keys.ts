import { setTimeout as pause } from 'node:timers/promises';
import type { Runtime } from '@tessera/process';
import {
  defaultSigningAlgorithm,
  signingAlgorithmNames,
  temporarilyUnavailable,
  type SigningAlgorithmName,
} from '@tessera/oauth';
import { byAlgorithm, createHeldKeys, ringOf } from './held-keys.ts';
import { generateSigningKey } from './key-pair.ts';
import type { KeyWrapper } from './key-wrapper.ts';
import { dueStep, publicationAge } from './schedule.ts';
import type { Need, Schedule, Step } from './schedule.ts';
import type { SigningKey } from '../signer.ts';
import type { KeyStore, Origin, StoredKey, Withdrawal } from '../store.ts';

/**
 * The keys of an issuer in this process, a ring for each algorithm that the issuer's tokens need: reloaded every few seconds, and kept
 * while the store is unavailable.
 */
export interface IssuerKeys {
  /**
   * The active key. Throws `temporarily_unavailable` if there is none, none confirmed for too long, or one so young that not every key
   * set has it.
   */
  current(algorithm: SigningAlgorithmName): SigningKey;
  /**
   * Makes the first keys of these rings, if there are none; those of the default algorithm come with the issuer. Throws
   * `temporarily_unavailable` if it cannot.
   */
  begin(algorithms: Iterable<SigningAlgorithmName>): Promise<void>;
  /**
   * Takes note of the algorithms that resources of the issuer declare, and begins their rings; the schedule ends those of others. Resolves
   * also if the store is unavailable.
   */
  declare(algorithms: readonly SigningAlgorithmName[]): Promise<void>;
  /** The keys to publish, by algorithm, newest first. Throws `temporarily_unavailable` before the first successful load. */
  published(): readonly StoredKey[];
  /** The keys to publish as they are stored now, by algorithm, newest first. */
  stored(): Promise<readonly StoredKey[]>;
  /** Seconds since each active key was activated, and since the store confirmed it. */
  ages(): readonly { algorithm: SigningAlgorithmName; active: number; confirmed: number }[];
  /** Whether tokens can be signed with the default algorithm; and with every declared one. */
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
  /** Seconds that a key is published before it signs, if nothing can wait for longer. */
  const urgentLead = Math.min(announcement, schedule.publicationLead);
  const held = createHeldKeys({ wrapper: deps.wrapper, leastLead: urgentLead, retention, runtime });
  const beginning = new Map<SigningAlgorithmName, Promise<void>>();
  let declared: ReadonlySet<SigningAlgorithmName> | undefined;
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

  async function advance(): Promise<void> {
    if (!followsSchedule) {
      if (!held.has(defaultSigningAlgorithm)) throw new Error(noKey);
      return;
    }
    const due = signingAlgorithmNames.flatMap((algorithm) => {
      const step = dueStep(ringOf(loaded, algorithm), schedule, needOf(algorithm, declared));
      return step === undefined ? [] : [{ step, algorithm }];
    });
    for (const { step, algorithm } of due) await perform(step, algorithm, deps);
    if (due.length > 0) await refresh();
  }

  async function begin(algorithms: Iterable<SigningAlgorithmName>): Promise<void> {
    for (const algorithm of algorithms) {
      if (algorithm === defaultSigningAlgorithm || held.has(algorithm)) continue;
      // One attempt at a time, shared by its callers.
      const begun =
        beginning.get(algorithm) ?? establish(algorithm).finally(() => beginning.delete(algorithm));
      beginning.set(algorithm, begun);
      await begun;
    }
  }

  async function establish(algorithm: SigningAlgorithmName): Promise<void> {
    try {
      await refresh();
      if (held.has(algorithm)) return;
      await perform('establish', algorithm, deps);
      await refresh();
    } catch (error) {
      throw temporarilyUnavailable(error);
    }
  }

  async function declare(algorithms: readonly SigningAlgorithmName[]): Promise<void> {
    declared = new Set(algorithms);
    await begin(declared).catch((error: unknown) => {
      runtime.log.warn({ err: error }, 'cannot make the first signing key of a declared algorithm');
    });
  }

  async function rotate(immediately: boolean, origin: Origin): Promise<SigningKey[]> {
    const keys = await store.load();
    const algorithms = signingAlgorithmNames.filter((algorithm) => signs(ringOf(keys, algorithm)));
    for (const algorithm of algorithms) {
      if (ringOf(keys, algorithm).some((key) => key.state === 'published')) continue;
      await store.publish(await generateSigningKey(algorithm, deps.wrapper), 0, origin);
    }
    const lead = immediately ? urgentLead : schedule.publicationLead;
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
    begin,
    declare,
    isUsable: () => held.has(defaultSigningAlgorithm) && held.isFresh(),
    isComplete: () =>
      signingAlgorithmNames.every((name) => held.has(name) || needOf(name, declared) !== 'needed') &&
      held.isFresh(),
    stored: async () => byAlgorithm(await store.load()),
    refresh,
    advance,
    rotate,
    withdraw,
  };
}

/** @param declared the algorithms that resources of the issuer declare; undefined if nobody has said so yet */
function needOf(
  algorithm: SigningAlgorithmName,
  declared: ReadonlySet<SigningAlgorithmName> | undefined,
): Need {
  if (algorithm === defaultSigningAlgorithm || declared?.has(algorithm) === true) return 'needed';
  return declared === undefined ? 'unknown' : 'unneeded';
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
  if (step === 'end') {
    await store.end(algorithm, schedule.publicationLead, bySchedule);
    return;
  }
  const key = await generateSigningKey(algorithm, wrapper);
  if (step === 'establish') await store.establish(key, bySchedule);
  else await store.publish(key, publicationAge(schedule), bySchedule);
}
