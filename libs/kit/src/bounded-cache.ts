import { LRUCache } from 'lru-cache';

export type BoundedCache<V extends object> = LRUCache<string, V>;

/**
 * Remembers up to `capacity` entries; one more takes the place of the one that was used least recently. Its memory
 * grows with its entries: for a `max` the library lays out lists of that length at once, 28 bytes an entry.
 */
export function boundedCache<V extends object>(capacity: number): BoundedCache<V> {
  return new LRUCache<string, V>({ maxSize: capacity, sizeCalculation: () => 1 });
}
