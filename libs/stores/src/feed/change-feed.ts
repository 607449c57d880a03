import { setTimeout as pause } from 'node:timers/promises';
import { SilenceTimer, unlessAborted } from '@tessera/kit';
import { temporarilyUnavailable } from '@tessera/oauth';
import type { Logger } from 'pino';
import type { Listening } from '../database.ts';

/** How often the feed is read while it has watchers and changes are not announced. */
const pollMs = 100;
/** How often it is read while they are, as a sign of life to its watchers and in case an announcement is lost. */
const announcedPollMs = 500;
/** Between two readings because of announcements. A change made by this process is read at once. */
const gatherMs = 20;
/**
 * A watcher that has received nothing for this time gets its position with the next poll, as a sign that the feed is
 * read.
 */
const quietMs = 400;
const longestPollMs = 2_000;
/** Once the feed could not be read for this time, its watchers end: they may miss changes. */
const unreadableMs = 3_000;
const batch = 500;

export interface Sequenced {
  readonly sequence: number;
}

/** The recorded changes. Sequence numbers must be in the order of the commits; they may have gaps. */
export interface FeedStore<T extends Sequenced> {
  /** 0 when nothing ever changed. */
  newestChange(): Promise<number>;
  /** Whether everything after `sequence` is still on record. */
  canResumeAfter(sequence: number): Promise<boolean>;
  changesAfter(sequence: number, limit: number): Promise<readonly T[]>;
  /** Calls `heard` when there may be a change. */
  listen(heard: () => void): Listening;
}

/** A change, or a position alone: every change up to it has been delivered. */
export type FeedItem<T extends Sequenced> =
  { readonly kind: 'position'; readonly sequence: number } | { readonly kind: 'change'; readonly change: T };

/** Follows recorded changes for any number of watchers with one poll; reads nothing while there are no watchers. */
export class ChangeFeed<T extends Sequenced> {
  readonly #store: FeedStore<T>;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  #watchers = 0;
  #polling: Promise<void> | undefined;
  #wake = new AbortController();
  #tick = Promise.withResolvers<number>();
  #listening: Listening | undefined;
  #heard = false;
  #readAt = -Infinity;

  constructor(store: FeedStore<T>, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /**
   * Starts with the position from which every change follows: `after` if the feed can resume there, else the newest.
   * Ends with the signal, with the feed, and when the feed moved back, as after a restore. Throws
   * `temporarily_unavailable` if the feed cannot be read.
   */
  async *watch(after: number, signal: AbortSignal): AsyncGenerator<FeedItem<T>, void> {
    const ending = AbortSignal.any([signal, this.#closing.signal]);
    let position = await this.#start(after);
    yield { kind: 'position', sequence: position };
    let heardAt = performance.now();
    this.#watchers += 1;
    if (this.#polling === undefined) this.#polling = this.#poll();
    // What this watcher has missed must not wait for the next reading.
    else this.poke();
    try {
      for (;;) {
        let newest = await unlessAborted(ending, this.#tick.promise);
        // The tick may be older than what this watcher has received since: only a later reading proves that the feed
        // moved back.
        if (newest < position) newest = await unlessAborted(ending, this.#store.newestChange());
        if (newest < position) return;
        while (position < newest) {
          const changes = await this.#store.changesAfter(position, batch);
          if (changes.length === 0) return;
          for (const change of changes) {
            yield { kind: 'change', change };
            position = change.sequence;
          }
          heardAt = performance.now();
        }
        if (performance.now() - heardAt >= quietMs) {
          yield { kind: 'position', sequence: position };
          heardAt = performance.now();
        }
      }
    } catch (error) {
      if (!ending.aborted) throw error;
    } finally {
      this.#watchers -= 1;
      if (this.#watchers === 0) this.poke();
    }
  }

  /** Reads the feed now, because this process has just written to it. */
  poke(): void {
    this.#wake.abort();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#listening?.close();
    this.poke();
    await this.#polling;
  }

  async #start(after: number): Promise<number> {
    if (Number.isSafeInteger(after) && after >= 0 && (await this.#store.canResumeAfter(after))) return after;
    return this.#store.newestChange();
  }

  async #poll(): Promise<void> {
    this.#listening ??= this.#store.listen(() => this.#hear());
    let failures = 0;
    let cause: unknown;
    let last = Infinity;
    /** How many readings ago a change was found without an announcement. */
    let unannounced = 0;
    const silence = () =>
      new SilenceTimer(unreadableMs, () => this.#endTick().reject(temporarilyUnavailable(cause)));
    let unreadable = silence();
    while (this.#watchers > 0 && !this.#closing.signal.aborted) {
      this.#wake = new AbortController();
      this.#readAt = performance.now();
      const heardBefore = this.#heard;
      // What is announced from here on may come after this reading.
      this.#heard = false;
      try {
        const newest = await this.#store.newestChange();
        if (heardBefore || this.#heard) unannounced = 0;
        else if (unannounced > 0 || newest > last) unannounced += 1;
        last = newest;
        failures = 0;
        unreadable.stop();
        unreadable = silence();
        this.#endTick().resolve(newest);
      } catch (error) {
        cause = error;
        if (failures === 0) this.#log.warn({ err: error }, 'cannot read the change feed');
        failures += 1;
      }
      // The announcement of a change may arrive after the change was read.
      if (unannounced > 2) {
        this.#listening.renew();
        unannounced = 0;
      }
      const isAnnounced = failures === 0 && unannounced === 0 && this.#listening.hears;
      const delay = isAnnounced
        ? announcedPollMs
        : Math.min(longestPollMs, pollMs * 2 ** Math.min(failures, 10));
      await pause(delay, undefined, { signal: this.#wake.signal, ref: false }).catch(() => undefined);
    }
    unreadable.stop();
    // In the same turn as the decision to stop, so that the next watcher starts a new poll.
    this.#polling = undefined;
  }

  #hear(): void {
    // What is announced meanwhile is read with it.
    if (!this.#heard)
      setTimeout(() => this.poke(), Math.max(0, this.#readAt + gatherMs - performance.now())).unref();
    this.#heard = true;
  }

  /** The tick that watchers wait for; the next ones wait for another. */
  #endTick(): PromiseWithResolvers<number> {
    const tick = this.#tick;
    // It may fail while no caller waits for it.
    tick.promise.catch(() => undefined);
    this.#tick = Promise.withResolvers();
    return tick;
  }
}
