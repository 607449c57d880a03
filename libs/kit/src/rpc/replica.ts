import { connect } from 'node:http2';
import type { ClientHttp2Session, SecureClientSessionOptions } from 'node:http2';
import { isIPv6 } from 'node:net';
import { Code } from '@connectrpc/connect';
import { exchange } from './exchange.ts';
import type { Attempt, Outcome } from './exchange.ts';
import { keepAlive } from './keepalive.ts';

/** Where a replica listens. */
export interface Address {
  /** An IP address. */
  readonly host: string;
  readonly port: number;
}

/** Milliseconds. */
export interface ConnectionTimes {
  /** A replica that went without a word takes its share of the calls until a ping is missed: each waits for its deadline. */
  readonly pingAfterMs: number;
  readonly pingTimeoutMs: number;
  /** How long calls wait for a connection that is being made, unless another replica has one. */
  readonly patienceMs: number;
  /** How long it may take. */
  readonly connectMs: number;
  /** Between the beginnings of two attempts, at first and at most. */
  readonly firstBackoffMs: number;
  readonly longestBackoffMs: number;
}

export const connectionTimes: ConnectionTimes = {
  pingAfterMs: 10_000,
  pingTimeoutMs: 5_000,
  patienceMs: 1_000,
  connectMs: 10_000,
  firstBackoffMs: 100,
  longestBackoffMs: 2_000,
};

export interface ReplicaOptions {
  readonly address: Address;
  /** What TLS needs, asked anew for every connection; undefined for plain text. */
  readonly tls: (() => SecureClientSessionOptions) | undefined;
  readonly times: ConnectionTimes;
  /** Told of every change of `state`. */
  readonly onChange: (replica: Replica) => void;
}

/**
 * - `connecting`: calls may wait for it
 * - `ready`: takes calls
 * - `away`: the last attempt failed or takes too long; it connects again by itself
 */
export type ReplicaState = 'connecting' | 'ready' | 'away';

/** After it was asked to leave, a connection may end its calls for this long. Servers of ours give them 30 s. */
const leavingMs = 60_000;
/** Statuses that say more of the replica than of the call. */
const troubles: ReadonlySet<unknown> = new Set([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.Internal,
  Code.Unknown,
]);

/** One process that answers calls: one connection at a time, made again for as long as it is open. */
export class Replica {
  readonly address: Address;
  /** Why there is no connection. */
  lastError: Error | undefined;
  /** Calls since these counts were last taken. */
  good = 0;
  bad = 0;
  readonly #options: ReplicaOptions;
  #state: ReplicaState = 'connecting';
  #session: ClientHttp2Session | undefined;
  #backoffMs: number;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ReplicaOptions) {
    this.address = options.address;
    this.#options = options;
    this.#backoffMs = options.times.firstBackoffMs;
    this.#connect();
  }

  get state(): ReplicaState {
    return this.#state;
  }

  /** The connection; only of one that is ready. */
  get session(): ClientHttp2Session {
    if (this.#session === undefined) throw new Error('not connected');
    return this.#session;
  }

  async exchange(attempt: Attempt): Promise<Outcome> {
    const outcome = await exchange(this.session, attempt);
    if (troubles.has(outcome.status.code)) this.bad += 1;
    else this.good += 1;
    return outcome;
  }

  /** Calls that run may end. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    if (this.#state === 'ready') this.#session?.close();
    else this.#session?.destroy();
  }

  #connect(): void {
    const { address, tls, times } = this.#options;
    const began = Date.now();
    const host = isIPv6(address.host) ? `[${address.host}]` : address.host;
    const session = connect(`${tls === undefined ? 'http' : 'https'}://${host}:${address.port}`, {
      ...tls?.(),
      settings: { enablePush: false },
      // Messages are bounded one by one; the bound of Node for a whole connection ends it under load.
      maxSessionMemory: Number.MAX_SAFE_INTEGER,
    });
    this.#session = session;
    const late = setTimeout(() => this.#turn('away'), times.patienceMs).unref();
    const tooLate = setTimeout(
      () => session.destroy(new Error('no connection in time')),
      times.connectMs,
    ).unref();
    let stopPings: (() => void) | undefined;
    // Before the settings there may be nobody but the kernel at the other end.
    session.once('remoteSettings', () => {
      clearTimeout(late);
      clearTimeout(tooLate);
      stopPings = keepAlive(session, times.pingAfterMs, times.pingTimeoutMs);
      this.#backoffMs = times.firstBackoffMs;
      this.lastError = undefined;
      if (this.#session === session && !session.closed) this.#turn('ready');
    });
    const left = (): void => {
      clearTimeout(late);
      clearTimeout(tooLate);
      if (this.#session === session) this.#left(began);
    };
    session.on('error', (error) => {
      this.lastError = error;
    });
    let leaving: NodeJS.Timeout | undefined;
    session.once('goaway', () => {
      leaving = setTimeout(() => session.destroy(), leavingMs).unref();
      left();
    });
    session.once('close', () => {
      stopPings?.();
      clearTimeout(leaving);
      left();
    });
  }

  /** The connection is gone, or takes no more calls: the next one follows. */
  #left(began: number): void {
    this.#session = undefined;
    if (this.#closed) return;
    // One that was there a moment ago is nearly always there again: calls wait for the first attempt.
    this.#turn(this.#state === 'ready' ? 'connecting' : 'away');
    const waitMs = Math.max(0, began + this.#nextBackoff() - Date.now());
    this.#retry = setTimeout(() => this.#connect(), waitMs).unref();
  }

  /** Spread, so that callers that lost the same replica do not come back together. */
  #nextBackoff(): number {
    const { longestBackoffMs } = this.#options.times;
    const backoffMs = this.#backoffMs * (0.8 + 0.4 * Math.random());
    this.#backoffMs = Math.min(longestBackoffMs, this.#backoffMs * 1.6);
    return backoffMs;
  }

  #turn(state: ReplicaState): void {
    if (this.#closed || this.#state === state) return;
    this.#state = state;
    this.#options.onChange(this);
  }
}
