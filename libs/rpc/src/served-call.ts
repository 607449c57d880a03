import { Code, ConnectError, type CallOptions } from '@connectrpc/connect';
import { temporarilyUnavailable } from '@tessera/oauth';
import { readActor } from './actor.ts';
import { cancelled, hopMs, minimumMs, rootCall } from './call-options.ts';
import type { Actor, CallContext, CallerName, Principal } from './call.ts';
import { systemClock, systemRandom, ulid, type CallTime } from '@tessera/kit';
import type { TraceOrigin } from './call-traces.ts';

/** What is known about a call when it arrives. */
export interface ArrivedCall {
  readonly caller: CallerName;
  readonly principal?: Principal | undefined;
  /** As metadata has it; counts only if the caller is the process `admin`. */
  readonly actor?: string | undefined;
  /** Absent: a new one is made. */
  readonly requestId: string | undefined;
  /** Milliseconds since the Unix epoch; Infinity without a deadline. */
  readonly deadline: number;
  /** False when nothing can ever end the call early, so that no signal needs to travel onward. */
  readonly cancellable: boolean;
  /** Absent for a call in process, which is part of what its caller does, and where there are no traces. */
  readonly origin?: TraceOrigin | undefined;
}

/** The context of one call on the serving side. The signal is made when it is first asked for. */
export class ServedCall implements CallContext, CallTime {
  readonly requestId: string;
  readonly caller: CallerName;
  readonly principal: Principal | undefined;
  readonly actor: Actor | undefined;
  readonly deadline: number;
  readonly origin: TraceOrigin | undefined;
  readonly #cancellable: boolean;
  /** Waits that a cancellation ends: most calls end without one, and a signal with its listener costs more. */
  readonly #waiting = new Set<(reason: ConnectError) => void>();
  #controller: AbortController | undefined;
  #finished = false;

  constructor(arrived: ArrivedCall) {
    this.requestId = arrived.requestId ?? ulid(systemClock, systemRandom);
    this.caller = arrived.caller;
    this.principal = arrived.principal;
    // An administrator, whose access token admitted the call, is served under that name too.
    const isAdmin = arrived.caller === 'admin' && arrived.principal === undefined;
    this.actor = isAdmin ? readActor(arrived.actor) : undefined;
    this.deadline = arrived.deadline;
    this.origin = arrived.origin;
    this.#cancellable = arrived.cancellable;
  }

  get signal(): AbortSignal {
    return (this.#controller ??= new AbortController()).signal;
  }

  /** Why the call ended before its handler did. */
  get cancellation(): ConnectError | undefined {
    return this.#controller?.signal.reason as ConnectError | undefined;
  }

  /**
   * Less what the answer takes on its way. Work that a finished call left running is bounded only if its caller gave up
   * before.
   */
  left(): number {
    if (this.#controller?.signal.aborted === true) return 0;
    return this.#finished ? Infinity : this.deadline - Date.now() - hopMs;
  }

  onward(): CallOptions {
    const signal = this.#cancellable ? this.signal : undefined;
    if (this.deadline === Infinity) return rootCall(this.requestId, undefined, signal);
    const remaining = Math.floor(this.deadline - Date.now()) - hopMs;
    if (remaining < minimumMs) {
      throw temporarilyUnavailable(
        new ConnectError('too little time left for a call onward', Code.DeadlineExceeded),
      );
    }
    return rootCall(this.requestId, remaining, signal);
  }

  /** The caller gave up: aborts the signal and wakes the waiting handler. Without effect once the call is finished. */
  cancel(reason = cancelled()): void {
    if (this.#finished) return;
    (this.#controller ??= new AbortController()).abort(reason);
    for (const end of this.#waiting) end(this.cancellation ?? reason);
  }

  /** The handler is done: work that it left running is no longer aborted. */
  finish(): void {
    this.#finished = true;
  }

  /** The outcome of `work`, or a rejection as soon as the call is cancelled. */
  untilCancelled<T>(work: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const { cancellation } = this;
    if (cancellation === undefined) this.#waiting.add(reject);
    else reject(cancellation);
    const ended = (): void => void this.#waiting.delete(reject);
    work.then(
      (outcome) => {
        ended();
        resolve(outcome);
      },
      (error: unknown) => {
        ended();
        reject(error);
      },
    );
    return promise;
  }
}
