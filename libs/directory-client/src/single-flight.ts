import { awaitShared, sharedCall } from '@tessera/rpc';
import type { CallOptions } from '@tessera/rpc';

/** A call in progress. */
export interface Flight {
  /** Whether the data it reads may have changed since it started; its result must then not be cached. */
  forgotten: boolean;
}

interface FlightWithResult<V> extends Flight {
  readonly result: Promise<V>;
}

type Work<V> = (flight: Flight, shared: CallOptions) => Promise<V>;

/** Lets concurrent callers with the same key share one call. */
export class SingleFlight<V> {
  readonly #inProgress = new Map<string, FlightWithResult<V>>();

  /**
   * Runs `work`, or joins the call in progress for the same key. The call belongs to no caller: one that gives up or
   * times out fails alone.
   * @param work makes its calls with the options it is given
   */
  run(key: string, call: CallOptions, work: Work<V>): Promise<V> {
    const { result } = this.#inProgress.get(key) ?? this.#start(key, call, work);
    return awaitShared(result, call);
  }

  /** The call in progress for `key` finishes for its present callers; no other joins it. */
  forget(key: string): void {
    const flight = this.#inProgress.get(key);
    if (flight === undefined) return;
    flight.forgotten = true;
    this.#inProgress.delete(key);
  }

  forgetAll(): void {
    for (const flight of this.#inProgress.values()) flight.forgotten = true;
    this.#inProgress.clear();
  }

  #start(key: string, call: CallOptions, work: Work<V>): FlightWithResult<V> {
    const started: Flight = { forgotten: false };
    const flight = Object.assign(started, { result: work(started, sharedCall(call)) });
    this.#inProgress.set(key, flight);
    const leave = () => {
      if (this.#inProgress.get(key) === flight) this.#inProgress.delete(key);
    };
    flight.result.then(leave, leave);
    return flight;
  }
}
