import { createPrivateKey } from 'node:crypto';
import type { Runtime } from '@tessera/process';
import { defaultSigningAlgorithm, temporarilyUnavailable } from '@tessera/oauth';
import { generateSigningKey } from './key-pair.ts';
import type { KeyWrapper } from './key-wrapper.ts';
import { dueStep, publicationAge } from './schedule.ts';
import type { Schedule, Step } from './schedule.ts';
import { signingKey } from './signer.ts';
import type { SigningKey } from './signer.ts';
import type { KeyStore, Origin, StoredKey, Withdrawal } from './store.ts';

/** The keys of this process: reloaded every few seconds, and kept while the store is unavailable. */
export interface KeyRing {
  /** The active key. Throws `temporarily_unavailable` if there is none, or none confirmed for too long. */
  current(): SigningKey;
  /** The keys to publish, newest first. Throws `temporarily_unavailable` before the first successful load. */
  published(): readonly StoredKey[];
  /** Seconds since the active key was activated, and since the store confirmed it. Undefined before the first load. */
  ages(): { readonly active: number; readonly confirmed: number } | undefined;
  /** Whether `current` returns a key. */
  isUsable(): boolean;
  /** Reloads the keys. Rejects if it cannot. */
  refresh(): Promise<void>;
  /**
   * Takes the step of the schedule that is due by the keys last loaded, if any. Rejects if it cannot, and if there is no key although
   * another process has to generate it.
   */
  advance(): Promise<void>;
  /** Rotates on request and resolves with the kid that signs from now on. */
  rotate(immediately: boolean, origin: Origin): Promise<string>;
  /** Removes a retired key from the published keys. */
  withdraw(kid: string, origin: Origin): Promise<Withdrawal>;
}

export interface KeyRingOptions {
  readonly store: KeyStore;
  readonly wrapper: KeyWrapper;
  readonly schedule: Schedule;
  /** Whether `advance` follows the schedule. If not, other processes do. */
  readonly followsSchedule: boolean;
  /** Seconds a retired key stays published. */
  readonly retention: number;
  readonly runtime: Pick<Runtime, 'clock' | 'log'>;
}

const pkcs8 = { format: 'der', type: 'pkcs8' } as const;
const noKey = 'There is no signing key yet. The first process of the keys service generates it.';
const bySchedule: Origin = { actor: { type: 'system', id: 'keys' } };

export function createKeyRing(options: KeyRingOptions): KeyRing {
  const { store, wrapper, schedule, followsSchedule, retention, runtime } = options;
  const unwrapped = new Map<string, SigningKey>();
  let known: readonly StoredKey[] | undefined;
  let loaded: readonly StoredKey[] = [];
  let current: SigningKey | undefined;
  let confirmedAt = 0;
  let last: Promise<void> = Promise.resolve();

  // A process without the store may sign with a key that another process has retired. It stops after half of the retention, so that
  // the tokens it signed can be verified during the other half.
  const confirmedFor = (retention * 1000) / 2;

  async function unwrap(key: StoredKey): Promise<SigningKey> {
    const cached = unwrapped.get(key.kid);
    if (cached !== undefined) return cached;
    const der = await wrapper.unwrap(key.kid, key.wrappedPrivateKey ?? '');
    const fresh = signingKey(defaultSigningAlgorithm, key.kid, createPrivateKey({ key: der, ...pkcs8 }));
    der.fill(0);
    unwrapped.set(key.kid, fresh);
    return fresh;
  }

  async function adopt(keys: readonly StoredKey[]): Promise<void> {
    const active = keys.find((key) => key.state === 'active');
    if (active === undefined) return;
    known = keys;
    for (const kid of unwrapped.keys()) {
      if (!keys.some((key) => key.kid === kid && key.state !== 'retired')) unwrapped.delete(kid);
    }
    const next = await unwrap(active);
    if (current?.kid !== next.kid) runtime.log.info({ kid: next.kid }, 'signing key in use');
    current = next;
    confirmedAt = runtime.clock.now();
    // The successor is unwrapped in advance, so that its first use does not wait.
    for (const key of keys) if (key.state === 'published') await unwrap(key);
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
      if (current === undefined) throw new Error(noKey);
      return;
    }
    const step = dueStep(loaded, schedule);
    if (step === undefined) return;
    await perform(step, options);
    await refresh();
  }

  async function rotate(immediately: boolean, origin: Origin): Promise<string> {
    const keys = await store.load();
    if (!keys.some((key) => key.state === 'published')) {
      await store.publish(await generateSigningKey(wrapper), 0, origin);
    }
    await store.activate(immediately ? 0 : schedule.publicationLead, origin);
    await refresh();
    return signing().kid;
  }

  async function withdraw(kid: string, origin: Origin): Promise<Withdrawal> {
    const outcome = await store.withdraw(kid, origin);
    if (outcome === 'withdrawn') await refresh();
    return outcome;
  }

  const isFresh = () => runtime.clock.now() - confirmedAt <= confirmedFor;

  function signing(): SigningKey {
    if (current === undefined || !isFresh()) throw temporarilyUnavailable();
    return current;
  }

  return {
    current: signing,
    ages() {
      const activeFor = known?.find((key) => key.state === 'active')?.activeFor;
      if (activeFor === undefined) return undefined;
      const confirmed = (runtime.clock.now() - confirmedAt) / 1000;
      return { active: activeFor + confirmed, confirmed };
    },
    isUsable: () => current !== undefined && isFresh(),
    published() {
      if (known === undefined) throw temporarilyUnavailable();
      return known;
    },
    refresh,
    advance,
    rotate,
    withdraw,
  };
}

async function perform(step: Step, { store, wrapper, schedule }: KeyRingOptions): Promise<void> {
  if (step === 'activate') await store.activate(schedule.publicationLead, bySchedule);
  else if (step === 'establish') await store.establish(await generateSigningKey(wrapper), bySchedule);
  else await store.publish(await generateSigningKey(wrapper), publicationAge(schedule), bySchedule);
}
