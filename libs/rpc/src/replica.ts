import { connect } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import { connect as connectTcp, isIPv6 } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';
import { Code } from '@connectrpc/connect';
import { exchange, receive } from './exchange.ts';
import type { Attempt, Ending, Outcome } from './exchange.ts';
import { keepAlive } from './keepalive.ts';
import { Pulse } from './pulse.ts';
import type { PulseTimes } from './pulse.ts';
import { ok } from './wire-errors.ts';

/** Where a replica listens. */
export interface Address {
  /** An IP address. */
  readonly host: string;
  readonly port: number;
}

/** Milliseconds. */
export interface ConnectionTimes extends PulseTimes {
  /** A connection whose replica went without a word is given up when a ping is missed. */
  readonly pingAfterMs: number;
  readonly pingTimeoutMs: number;
  /** How long calls wait for a connection that is being made, unless another replica has one. */
  readonly patienceMs: number;
  /** How long it may take. */
  readonly connectMs: number;
  /** Between the beginnings of two attempts, at first and at most. */
  readonly firstBackoffMs: number;
  readonly longestBackoffMs: number;
  /** How long calls may go on that a connection has when it is left. Servers of ours give them 30 s. */
  readonly leavingMs: number;
}

export const connectionTimes: ConnectionTimes = {
  askAfterMs: 200,
  silenceMs: 550,
  pingAfterMs: 10_000,
  pingTimeoutMs: 5_000,
  patienceMs: 1_000,
  connectMs: 10_000,
  firstBackoffMs: 100,
  longestBackoffMs: 2_000,
  leavingMs: 60_000,
};

export interface ReplicaOptions {
  readonly address: Address;
  /** What TLS needs, asked anew for every connection; undefined for plain text. */
  readonly tls: (() => ConnectionOptions) | undefined;
  readonly times: ConnectionTimes;
  /** Told of every change of `state`. */
  readonly onChange: (replica: Replica) => void;
}

/**
 * - `connecting`: calls may wait for it
 * - `ready`: takes calls
 * - `away`: the last attempt failed or takes too long, or it fell silent; it connects again, or speaks, by itself
 */
export type ReplicaState = 'connecting' | 'ready' | 'away';

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
  #connection: Connection | undefined;
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

  async exchange(attempt: Attempt): Promise<Outcome> {
    const connection = this.#connection;
    const outcome = await exchange(connection?.session, attempt, connection?.pulse);
    const { code } = outcome.status;
    if (troubles.has(code)) this.bad += 1;
    else this.good += 1;
    if (code === ok) this.#backoffMs = this.#options.times.firstBackoffMs;
    else this.#leaveClosed(connection);
    return outcome;
  }

  async *receive(attempt: Attempt): AsyncGenerator<Buffer, Ending> {
    const connection = this.#connection;
    const ending = yield* receive(connection?.session, attempt);
    this.#leaveClosed(connection);
    return ending;
  }

  /** Calls that run may end. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    const connection = this.#connection;
    if (connection === undefined) return;
    if (this.#state === 'ready') leave(connection, this.#options.times.leavingMs);
    else cut(connection);
  }

  #connect(): void {
    const { times } = this.#options;
    const began = Date.now();
    let connection: Connection;
    try {
      const opened = this.#open();
      const pulse = new Pulse(opened.session, opened.socket, times, (silent) => {
        if (this.#connection !== connection) return;
        this.lastError = silent ? new Error('nothing was heard of it') : undefined;
        this.#turn(silent ? 'away' : 'ready');
      });
      connection = { ...opened, pulse, began };
    } catch (error) {
      this.lastError = error instanceof Error ? error : new Error(String(error));
      this.#again(began);
      return;
    }
    const { session } = connection;
    this.#connection = connection;
    const late = setTimeout(() => {
      if (this.#connection === connection) this.#turn('away');
    }, times.patienceMs).unref();
    const tooLate = setTimeout(() => {
      this.lastError = new Error('no connection in time');
      cut(connection);
      this.#left(connection);
    }, times.connectMs).unref();
    let stopPings: (() => void) | undefined;
    // Before the settings there may be nobody but the kernel at the other end.
    session.once('remoteSettings', () => {
      clearTimeout(late);
      clearTimeout(tooLate);
      stopPings = keepAlive(session, times.pingAfterMs, times.pingTimeoutMs, () => {
        cut(connection);
        this.#left(connection);
      });
      this.lastError = undefined;
      if (this.#connection === connection && !session.closed) this.#turn('ready');
    });
    session.on('error', (error) => {
      this.lastError = error;
    });
    session.once('goaway', () => {
      leave(connection, times.leavingMs);
      this.#left(connection);
    });
    session.once('close', () => {
      clearTimeout(late);
      clearTimeout(tooLate);
      stopPings?.();
      this.#left(connection);
    });
  }

  #open(): Pick<Connection, 'session' | 'socket'> {
    const { address, tls } = this.#options;
    const host = isIPv6(address.host) ? `[${address.host}]` : address.host;
    const { host: to, port } = address;
    const socket =
      tls === undefined
        ? connectTcp({ host: to, port })
        : connectTls({ ...tls(), host: to, port, ALPNProtocols: ['h2'] });
    const session = connect(`${tls === undefined ? 'http' : 'https'}://${host}:${port}`, {
      createConnection: () => socket,
      settings: { enablePush: false },
      // Messages are bounded one by one; the bound of Node for a whole connection ends it under load.
      maxSessionMemory: Number.MAX_SAFE_INTEGER,
    });
    return { session, socket };
  }

  /** A connection may take no more calls and not have said so. */
  #leaveClosed(connection: Connection | undefined): void {
    if (connection?.session.closed === true) this.#left(connection);
  }

  /** The connection is gone, or takes no more calls: the next one follows. */
  #left(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    if (this.#closed) return;
    const { firstBackoffMs, longestBackoffMs } = this.#options.times;
    if (Date.now() - connection.began > longestBackoffMs) this.#backoffMs = firstBackoffMs;
    // One that was there a moment ago is nearly always there again: calls wait for the first attempt.
    this.#turn(this.#state === 'ready' ? 'connecting' : 'away');
    this.#again(connection.began);
  }

  /** Connects, after a time since the last attempt that grows with each one that brought nothing. */
  #again(began: number): void {
    // Spread, so that callers that lost the same replica do not come back together.
    const backoffMs = this.#backoffMs * (0.8 + 0.4 * Math.random());
    this.#backoffMs = Math.min(this.#options.times.longestBackoffMs, this.#backoffMs * 1.6);
    const waitMs = Math.max(0, began + backoffMs - Date.now());
    this.#retry = setTimeout(() => this.#connect(), waitMs).unref();
  }

  #turn(state: ReplicaState): void {
    if (this.#closed || this.#state === state) return;
    this.#state = state;
    this.#options.onChange(this);
  }
}

interface Connection {
  readonly session: ClientHttp2Session;
  readonly socket: Socket;
  readonly pulse: Pulse;
  /** When it was begun, in milliseconds since the Unix epoch. */
  readonly began: number;
}

/** No new calls; those that run may end, for a while: a connection that closes cannot be pinged. */
function leave(connection: Connection, leavingMs: number): void {
  const { session } = connection;
  session.close();
  const late = setTimeout(() => cut(connection), leavingMs).unref();
  session.once('close', () => clearTimeout(late));
}

/** A session alone would wait for what is still to be written, and for a socket that still connects. */
function cut({ session, socket }: Connection): void {
  session.destroy();
  socket.destroy();
}
