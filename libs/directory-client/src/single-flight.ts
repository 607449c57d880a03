import { awaitShared, sharedCall } from '@tessera/rpc';
import type { CallOptions } from '@tessera/rpc';

/** A piece of work in progress. */
export interface Ticket {
  /** Set when what the work reads may have changed since it began: its result must not be kept. */
  forgotten: boolean;
}

interface Pending<V> extends Ticket {
  readonly result: Promise<V>;
}

type Work<V> = (ticket: Ticket, shared: CallOptions) => Promise<V>;

/** Lets callers that want the same thing at the same time share one look-up. */
export class Coalesced<V> {
  readonly #pending = new Map<string, Pending<V>>();

  /**
   * Runs `work`, or joins the run in progress for the same key. The work is nobody's own: a caller that gives up or runs
   * out of time fails alone.
   * @param work makes its calls with the options it is given
   */
  run(key: string, call: CallOptions, work: Work<V>): Promise<V> {
    const { result } = this.#pending.get(key) ?? this.#begin(key, call, work);
    return awaitShared(result, call);
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

  #begin(key: string, call: CallOptions, work: Work<V>): Pending<V> {
    const ticket: Ticket = { forgotten: false };
    const pending = Object.assign(ticket, { result: work(ticket, sharedCall(call)) });
    this.#pending.set(key, pending);
    const leave = () => {
      if (this.#pending.get(key) === pending) this.#pending.delete(key);
    };
    pending.result.then(leave, leave);
    return pending;
  }
}
