import { boundedCache, type BoundedCache, type Clock } from '@tessera/kit';
import type { CallOptions } from '@tessera/rpc';
import { SingleFlight } from './single-flight.ts';

export interface RecordCacheDeps {
  readonly clock: Clock;
  /** The current maximum age of a record, in milliseconds. */
  readonly maxAge: () => number;
  /** In records. */
  readonly capacity: number;
}

interface Entry<V> {
  readonly value: V;
  readonly fetchedAt: number;
}

/**
 * A bounded cache of records. Concurrent misses share one look-up, absent records are not cached, and a look-up that
 * was in progress when its record was dropped is not cached either, because its result may be stale.
 */
export class RecordCache<V extends object> {
  readonly #deps: RecordCacheDeps;
  readonly #entries: BoundedCache<Entry<V>>;
  readonly #lookups = new SingleFlight<V | undefined>();

  constructor(deps: RecordCacheDeps) {
    this.#deps = deps;
    this.#entries = boundedCache(deps.capacity);
  }

  /** @param load finds the record for all concurrent callers; it makes its calls with the options it is given */
  async get(
    key: string,
    call: CallOptions,
    load: (shared: CallOptions) => Promise<V | undefined>,
  ): Promise<V | undefined> {
    const entry = this.#entries.get(key);
    if (entry !== undefined && this.#isFresh(entry)) return entry.value;
    return this.#lookups.run(key, call, async (flight, shared) => {
      const fetchedAt = this.#deps.clock.now();
      const value = await load(shared);
      if (value !== undefined && !flight.forgotten) this.#entries.set(key, { value, fetchedAt });
      return value;
    });
  }

  /** Whether a record is in the cache, even one that is too old to be used. */
  has(key: string): boolean {
    return this.#entries.get(key) !== undefined;
  }

  drop(key: string): void {
    this.#entries.delete(key);
    this.#lookups.forget(key);
  }

  /** Drops matching records, and all look-ups in progress, because their results may match. */
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
    const age = this.#deps.clock.now() - entry.fetchedAt;
    return age >= 0 && age <= this.#deps.maxAge();
  }
}
