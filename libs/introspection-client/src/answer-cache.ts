import { LRUCache } from 'lru-cache';

export type BoundedCache<V extends object> = LRUCache<string, V>;

/**
 * Remembers up to `capacity` entries; one more takes the place of the one that was used least recently. Its memory
 * grows with its entries: for a `max` the library lays out lists of that length at once, 44 bytes an entry where it may
 * expire.
 * @param ttl milliseconds after which an entry is forgotten that is set without a time of its own; 0: never
 */
export function boundedCache<V extends object>(capacity: number, ttl = 0): BoundedCache<V> {
  return new LRUCache<string, V>({ maxSize: capacity, sizeCalculation: () => 1, ttl });
}
