import { setTimeout as pause } from 'node:timers/promises';
import { silentLog, waitFor } from '@tessera/test-kit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Listening } from '../database.ts';
import { ChangeFeed, type FeedStore, type Sequenced } from './change-feed.ts';

/** A record in memory. A reading of the newest change sees what there is when it begins, and answers when it may. */
class FakeStore implements FeedStore<Sequenced> {
  newest = 10;
  readings = 0;
  hears = false;
  renewals = 0;
  announce: () => void = () => undefined;
  hold: Promise<unknown> | undefined;
  broken = false;

  async newestChange(): Promise<number> {
    this.readings += 1;
    const seen = this.newest;
    await this.hold;
    if (this.broken) throw new Error('The database is unavailable.');
    return seen;
  }

  listen(heard: () => void): Listening {
    const hears = () => this.hears;
    this.announce = heard;
    return {
      get hears() {
        return hears();
      },
      renew: () => void (this.renewals += 1),
      close: () => undefined,
    };
  }

  canResumeAfter(sequence: number): Promise<boolean> {
    return Promise.resolve(sequence <= this.newest);
  }

  changesAfter(sequence: number, limit: number): Promise<readonly Sequenced[]> {
    const count = Math.min(limit, this.newest - sequence);
    return Promise.resolve(Array.from({ length: count }, (_, index) => ({ sequence: sequence + index + 1 })));
  }
}

let store: FakeStore;
let feed: ChangeFeed<Sequenced>;
let ending: AbortController;
let late: PromiseWithResolvers<void>;

beforeEach(() => {
  store = new FakeStore();
  feed = new ChangeFeed(store, silentLog());
  ending = new AbortController();
  late = Promise.withResolvers();
});

afterEach(async () => {
  vi.useRealTimers();
  ending.abort();
  late.resolve();
  await feed.close();
});

/** A watcher behind the position from which it begins. */
async function watch(after: number) {
  const watcher = feed.watch(after, ending.signal);
  expect(await watcher.next()).toEqual({ done: false, value: { kind: 'position', sequence: after } });
  return watcher;
}

it('continues if its poll was read before a change that a watcher already has', async () => {
  const release = Promise.withResolvers<void>();
  store.hold = release.promise;
  const early = await watch(10);
  const earlyHears = early.next();
  store.newest = 11;
  const late = await watch(11);
  const lateHears = late.next();
  release.resolve();
  store.newest = 12;
  const change = (sequence: number) => ({ done: false, value: { kind: 'change', change: { sequence } } });
  expect(await Promise.all([earlyHears, lateHears])).toEqual([change(11), change(12)]);
});

it('ends a watcher if the record was restored to an earlier state', async () => {
  const watcher = await watch(10);
  const hears = watcher.next();
  store.newest = 9;
  expect(await hears).toEqual({ done: true, value: undefined });
});

it('tells a watcher its position with each reading while nothing changes', async () => {
  const watcher = await watch(10);
  const position = { done: false, value: { kind: 'position', sequence: 10 } };
  expect([await watcher.next(), await watcher.next()]).toEqual([position, position]);
});

it.each([
  ['fails', () => void (store.broken = true)],
  ['does not answer', () => void (store.hold = late.promise)],
])('ends its watchers if the store %s for three seconds', async (_, breakStore) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'] });
  const watcher = await watch(10);
  await watcher.next();
  breakStore();
  const outcome = watcher.next().then(
    () => 'heard',
    (error: unknown) => error,
  );
  feed.poke();
  await vi.advanceTimersByTimeAsync(3_100);
  expect(await outcome).toMatchObject({ code: 'temporarily_unavailable' });
});

describe('a feed whose changes are announced', () => {
  const change = { done: false, value: { kind: 'change', change: { sequence: 11 } } };
  let watcher: Awaited<ReturnType<typeof watch>>;

  /** On a busy machine positions come before the change. */
  async function changed(next: ReturnType<typeof watcher.next>) {
    let heard = await next;
    while (heard.done !== true && heard.value.kind === 'position') heard = await watcher.next();
    return heard;
  }

  beforeEach(async () => {
    store.hears = true;
    watcher = await watch(10);
  });

  it('is read twice a second, and at once when one is announced', async () => {
    const began = performance.now();
    await watcher.next();
    await watcher.next();
    // A timer may end some of a millisecond early.
    expect(store.readings).toBeLessThanOrEqual((performance.now() - began + 5) / 500 + 1);
    const next = watcher.next();
    const [announced, readings] = [performance.now(), store.readings];
    store.newest = 11;
    store.announce();
    expect(await changed(next)).toEqual(change);
    // The usual one may come in between on a busy machine.
    const usual = Math.floor((performance.now() - announced + 500) / 500);
    expect(store.readings - readings).toBeGreaterThanOrEqual(1);
    expect(store.readings - readings).toBeLessThanOrEqual(usual + 1);
    expect(store.renewals).toBe(0);
  });

  it('is read once for many announcements', async () => {
    const next = watcher.next();
    const [began, readings] = [performance.now(), store.readings];
    for (let count = 0; count < 100; count += 1) {
      store.announce();
      await pause(1);
    }
    store.newest = 11;
    store.announce();
    expect(await changed(next)).toEqual(change);
    expect(store.readings - readings).toBeLessThanOrEqual((performance.now() - began) / 20 + 2);
  });

  it('listens anew after a change that was not announced, and is read more often until it hears', async () => {
    const next = watcher.next();
    await waitFor(() => expect(store.readings).toBeGreaterThan(0));
    store.newest = 11;
    expect(await changed(next)).toEqual(change);
    await waitFor(() => expect(store.renewals).toBe(1));
  });

  it('takes an announcement that comes after the change was read for what it is', async () => {
    const next = watcher.next();
    await waitFor(() => expect(store.readings).toBeGreaterThan(0));
    store.newest = 11;
    expect(await changed(next)).toEqual(change);
    store.announce();
    const { readings } = store;
    await waitFor(() => expect(store.readings).toBeGreaterThan(readings + 3));
    expect(store.renewals).toBe(0);
  });
});
