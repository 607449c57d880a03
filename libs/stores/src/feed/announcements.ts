import type { Listening } from '../database.ts';

/** The channel of all announcements; the triggers notify it with the record (`schema.table`) that changed. */
export const channel = 'tessera_change';

/** For a database without announcements. */
export const notListening: Listening = { hears: false, renew: () => undefined, close: () => undefined };

/** Who listens to which record. */
export class Listeners {
  readonly #records = new Map<string, Set<() => void>>();

  /** Returns the end of it. */
  add(record: string, heard: () => void): () => void {
    const listeners = this.#records.get(record) ?? new Set();
    this.#records.set(record, listeners.add(heard));
    return () => void listeners.delete(heard);
  }

  announce(record: string): void {
    for (const heard of this.#records.get(record) ?? []) heard();
  }

  announceAll(): void {
    for (const record of this.#records.keys()) this.announce(record);
  }
}
