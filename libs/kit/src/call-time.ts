import { AsyncLocalStorage } from 'node:async_hooks';

/** The time of the call that the present work belongs to. */
export interface CallTime {
  /** Milliseconds that are left for the work; Infinity without a limit, 0 or less if nobody waits for it. */
  left(): number;
}

const present = new AsyncLocalStorage<CallTime>();

/** Runs work that belongs to a call: what is written in it may not become final once the time of the call is over. */
export function inCall<T>(time: CallTime, work: () => T): T {
  return present.run(time, work);
}

/** Whether the present work belongs to a call. */
export function isInCall(): boolean {
  return present.getStore() !== undefined;
}

/** Milliseconds that are left for the present work; Infinity if it belongs to no call, or nothing limits the call. */
export function callTimeLeft(): number {
  return present.getStore()?.left() ?? Infinity;
}
