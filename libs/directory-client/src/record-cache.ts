import { boundedCache, type BoundedCache, type Clock } from '@tessera/kit';
import type { CallOptions } from '@tessera/rpc';
import { Coalesced } from './single-flight.ts';

export interface RecordCacheOptions {
  readonly clock: Clock;
  /** How old a record may be, in milliseconds, as things stand. */
  readonly maxAge: () => number;
  /** How many records are held. */
  readonly capacity: number;
}

interface Entry<V> {
  readonly value: V;
  readonly fetchedAt: number;
}

/**
 * Records by key: bounded, short-lived, dropped when told. Concurrent misses share one look-up, nothing is remembered
 * as absent, and a look-up that was under way when its record was dropped does not bring the stale record back.
 */
export class RecordCache<V extends object> {
  readonly #options: RecordCacheOptions;
  readonly #entries: BoundedCache<Entry<V>>;
  readonly #lookups = new Coalesced<V | undefined>();

  constructor(options: RecordCacheOptions) {
    this.#options = options;
    this.#entries = boundedCache(options.capacity);
  }

  /** @param load finds the record, for everyone who waits for it, with the options it is given */
  async get(
    key: string,
    call: CallOptions,
    load: (shared: CallOptions) => Promise<V | undefined>,
  ): Promise<V | undefined> {
    const entry = this.#entries.get(key);
    if (entry !== undefined && this.#isFresh(entry)) return entry.value;
    return this.#lookups.run(key, call, async (ticket, shared) => {
      const fetchedAt = this.#options.clock.now();
      const value = await load(shared);
      if (value !== undefined && !ticket.forgotten) this.#entries.set(key, { value, fetchedAt });
      return value;
    });
  }

  drop(key: string): void {
    this.#entries.delete(key);
    this.#lookups.forget(key);
  }

  /** Drops the records that match, and every look-up under way, because what those will find is not known yet. */
  dropWhere(matches: (value: V) => boolean): void {
    const dropped = Array.from(this.#entries.entries()).filter(([, entry]) => matches(entry.value));
    for (const [key] of dropped) this.#entries.delete(key);
    this.#lookups.forgetAll();
  }

  clear(): void {
    this.#entries.clear();
    this.#lookups.forgetAll();
  }

  #isFresh(entry: Entry<V>): boolean {
    const age = this.#options.clock.now() - entry.fetchedAt;
    return age >= 0 && age <= this.#options.maxAge();
  }
}
