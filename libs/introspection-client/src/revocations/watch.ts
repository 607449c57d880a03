import { followStream } from '@tessera/kit/follow-stream';
import {
  IntrospectionService,
  RevocationKind,
  type WatchRevocationsResponse,
} from '@tessera/proto-gen/token';
import { IntrospectionError } from '../introspection-error.ts';
import type { IntrospectionServer } from '../server/introspection-server.ts';
import type { Metrics, Revocation } from '../introspector-types.ts';

/** The server sends twice a second; silence means that the stream is dead. */
const silenceMs = 3_000;
const shortestPauseMs = 50;
const longestPauseMs = 2_000;

export interface WatchListener {
  readonly onRevocation: (revocation: Revocation) => void;
  /** Revocations may have been missed: clear the cache. */
  readonly onGap: () => void;
  readonly metrics: Metrics;
  /** How far back the first stream starts, in seconds; 0: at the present. */
  readonly lookBackSeconds: number;
}

/** Watches revocations, resumes after an interruption, and knows whether it is connected. */
export class Watch {
  readonly #server: IntrospectionServer;
  readonly #listener: WatchListener;
  readonly #follower: { close(): Promise<void> };
  #cursor = '';
  #guarded = false;
  #refused = false;

  constructor(server: IntrospectionServer, listener: WatchListener) {
    this.#server = server;
    this.#listener = listener;
    this.#follower = followStream({
      open: (signal) => this.#open(signal),
      onMessage: (message) => this.#hear(message),
      onEnd: (reason) => this.#end(reason),
      silenceMs,
      shortestPauseMs,
      longestPauseMs,
    });
  }

  get guarded(): boolean {
    return this.#guarded;
  }

  close(): Promise<void> {
    return this.#follower.close();
  }

  #open(signal: AbortSignal): AsyncIterable<WatchRevocationsResponse> {
    const { lookBackSeconds } = this.#listener;
    const wanted = lookBackSeconds > 0 ? Math.floor(Date.now() / 1000) - lookBackSeconds : 0;
    const since = this.#cursor === '' ? BigInt(wanted) : 0n;
    const { watchRevocations } = IntrospectionService.method;
    return this.#server.stream(watchRevocations, { cursor: this.#cursor, since }, this.#refused, signal);
  }

  #end(reason: Error): void {
    const code = reason instanceof IntrospectionError ? reason.code : undefined;
    this.#refused = code === 'unauthenticated';
    if (code === 'out_of_range') {
      this.#cursor = '';
      this.#listener.onGap();
    }
    this.#note(false, reason.message);
  }

  #hear(message: WatchRevocationsResponse): boolean {
    const kind = kinds[message.kind];
    if (kind !== undefined) {
      const { tenantId, sub, clientId, sessionId, familyId, jti, endedAt } = message;
      this.#listener.onRevocation({
        kind,
        tenantId,
        sub,
        clientId,
        sessionId,
        familyId,
        jti,
        endedAt: Number(endedAt),
      });
    }
    this.#cursor = message.cursor;
    this.#refused = false;
    this.#note(true, 'heard');
    return true;
  }

  #note(guarded: boolean, reason: string): void {
    if (guarded === this.#guarded) return;
    this.#guarded = guarded;
    this.#listener.metrics.onWatch?.({ guarded, reason });
  }
}

const kinds: Readonly<Partial<Record<RevocationKind, Revocation['kind']>>> = {
  [RevocationKind.REFRESH_FAMILY]: 'refresh_family',
  [RevocationKind.SESSION]: 'session',
  [RevocationKind.SUBJECT]: 'subject',
  [RevocationKind.APPLICATION]: 'application',
  [RevocationKind.TENANT]: 'tenant',
  [RevocationKind.ACCESS_TOKEN]: 'access_token',
};
