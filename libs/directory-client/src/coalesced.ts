import type { CallOptions } from '@tessera/kit';

/** A piece of work in progress. */
export interface Ticket {
  /** Set when what the work reads may have changed since it began: its result must not be kept. */
  forgotten: boolean;
}

interface Pending<V> extends Ticket {
  readonly call: CallOptions;
  readonly result: Promise<V>;
}

/** Lets callers that want the same thing at the same time share one look-up. */
export class Coalesced<V> {
  readonly #pending = new Map<string, Pending<V>>();

  /**
   * Runs `work`, or joins the run in progress for the same key. Those who joined a caller that gave up start again for
   * themselves, so that one lost connection fails nobody else's request.
   */
  async run(key: string, call: CallOptions, work: (ticket: Ticket) => Promise<V>): Promise<V> {
    const joined = this.#pending.get(key);
    if (joined === undefined) return this.#lead(key, call, work);
    try {
      return await joined.result;
    } catch (error) {
      if (joined.call.signal?.aborted !== true || call.signal?.aborted === true) throw error;
      return this.run(key, call, work);
    }
  }

  /** What is in progress for `key` finishes for those who wait for it; nobody joins it any more. */
  forget(key: string): void {
    const pending = this.#pending.get(key);
    if (pending === undefined) return;
    pending.forgotten = true;
    this.#pending.delete(key);
  }

  forgetAll(): void {
    for (const pending of this.#pending.values()) pending.forgotten = true;
    this.#pending.clear();
  }

  async #lead(key: string, call: CallOptions, work: (ticket: Ticket) => Promise<V>): Promise<V> {
    const ticket: Ticket = { forgotten: false };
    const pending = Object.assign(ticket, { call, result: work(ticket) });
    this.#pending.set(key, pending);
    try {
      return await pending.result;
    } finally {
      if (this.#pending.get(key) === pending) this.#pending.delete(key);
    }
  }
}
