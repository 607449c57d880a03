import { constants, performServerHandshake } from 'node:http2';
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { Code } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { admit } from './gate.ts';
import type { Identify, ServedMethod } from './gate.ts';
import { keepAlive } from './keepalive.ts';
import { WireCall } from './wire-call.ts';

export interface ConnectionsOptions {
  /** By path: `/<service>/<method>`. */
  readonly methods: ReadonlyMap<string, ServedMethod>;
  /** Largest message taken or sent, in bytes. */
  readonly maxMessageBytes: number;
  /** Age at which a connection is asked to leave, in milliseconds. */
  readonly ageMs: number;
  /** How many streams a peer may reset on a connection before it is ended; Node's own limit if absent. */
  readonly resets?: { readonly burst: number; readonly perSecond: number } | undefined;
  /** Milliseconds between two pings, 30 s by default, and how long each may stay without an answer, 10 s. */
  readonly pingAfterMs?: number;
  readonly pingTimeoutMs?: number;
  readonly log: Logger;
}

const ageGraceMs = 30_000;
const lastWordMs = 1_000;
const settings = { maxConcurrentStreams: 1_000 };
/** The last stream of a connection that may still open some. */
const anyStream = 2 ** 31 - 1;
const reachedAge = Buffer.from('max_age');

/** The connections of a server: calls come in, and each connection leaves when it is old, silent or asked to. */
export class Connections {
  readonly #options: ConnectionsOptions;
  /** With what cuts each of them. */
  readonly #sessions = new Map<ServerHttp2Session, () => void>();
  #closing = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** @param identify establishes the peer of each call on this connection */
  add(socket: Socket, identify: Identify): void {
    const { resets } = this.#options;
    const session = performServerHandshake(socket, {
      settings,
      // Messages and streams are bounded one by one; the bound of Node for a whole connection ends it under load.
      maxSessionMemory: Number.MAX_SAFE_INTEGER,
      ...(resets && { streamResetBurst: resets.burst, streamResetRate: resets.perSecond }),
    });
    session.on('error', (error) => this.#options.log.debug({ error }, 'connection failed'));
    session.on('stream', (stream, headers) => {
      this.#take(new WireCall(stream, headers, this.#options.maxMessageBytes), identify);
    });
    const cut = (): void => {
      session.destroy(new Error('the connection was cut'), constants.NGHTTP2_CANCEL);
      // What is said last may still go out; a session that is blocked for writing would keep its socket.
      setTimeout(() => socket.destroy(), lastWordMs).unref();
    };
    this.#sessions.set(session, cut);
    const stopWatching = this.#watch(session, cut);
    session.once('close', () => {
      stopWatching();
      this.#sessions.delete(session);
    });
    // Its handshake of TLS may have begun long before.
    if (this.#closing) session.close();
  }

  /** Asks every peer to leave, also who comes later; calls that run may end. */
  close(): void {
    this.#closing = true;
    for (const session of this.#sessions.keys()) session.close();
  }

  /** Cuts what is left. */
  cut(): void {
    for (const cut of this.#sessions.values()) cut();
  }

  #take(call: WireCall, identify: Identify): void {
    const { methods, log } = this.#options;
    if (call.ended) return;
    if (call.headers['content-type']?.startsWith('application/grpc') !== true) return call.refuseMediaType();
    const path = call.headers[':path'] ?? '';
    const method = methods.get(path);
    if (method !== undefined) admit(call, method, identify, log);
    else {
      const details = `The server does not implement the method ${path}`;
      call.fail({ code: Code.Unimplemented, details });
    }
  }

  /** Lets a connection go that reached its age or answers no ping. Returns what ends the watch. */
  #watch(session: ServerHttp2Session, cut: () => void): () => void {
    const { pingAfterMs = 30_000, pingTimeoutMs = 10_000 } = this.#options;
    let last: NodeJS.Timeout | undefined;
    // Spread, so that connections that came together do not leave together.
    const ageMs = this.#options.ageMs * (0.9 + 0.2 * Math.random());
    const age = setTimeout(() => {
      if (session.destroyed) return;
      // Announced before it is final, so that calls under way to us are still taken.
      session.goaway(constants.NGHTTP2_NO_ERROR, anyStream, reachedAge);
      session.close();
      last = setTimeout(cut, ageGraceMs).unref();
    }, ageMs).unref();
    const stopPings = keepAlive(session, pingAfterMs, pingTimeoutMs, cut);
    return () => {
      clearTimeout(age);
      clearTimeout(last);
      stopPings();
    };
  }
}
