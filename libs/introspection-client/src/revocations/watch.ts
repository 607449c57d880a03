import { setTimeout as pause } from 'node:timers/promises';
import { SilenceTimer } from '@tessera/kit/silence-timer';
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
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #cursor = '';
  #guarded = false;
  #failures = 0;
  #refused = false;

  constructor(server: IntrospectionServer, listener: WatchListener) {
    this.#server = server;
    this.#listener = listener;
    this.#running = this.#run();
  }

  get guarded(): boolean {
    return this.#guarded;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const reason = await this.#follow();
      if (this.#closing.signal.aborted) return;
      this.#note(false, reason);
      this.#failures += 1;
      const longest = Math.min(longestPauseMs, shortestPauseMs * 2 ** Math.min(this.#failures - 1, 10));
      const milliseconds = longest * (0.5 + Math.random() / 2);
      await pause(milliseconds, undefined, { signal: this.#closing.signal, ref: false }).catch(
        () => undefined,
      );
    }
  }

  /** Reads one stream to its end and returns the reason. */
  async #follow(): Promise<string> {
    const silent = new AbortController();
    const signal = AbortSignal.any([silent.signal, this.#closing.signal]);
    const silence = new SilenceTimer(silenceMs, () => silent.abort());
    const { lookBackSeconds } = this.#listener;
    const wanted = lookBackSeconds > 0 ? Math.floor(Date.now() / 1000) - lookBackSeconds : 0;
    const since = this.#cursor === '' ? BigInt(wanted) : 0n;
    try {
      const { watchRevocations } = IntrospectionService.method;
      const request = { cursor: this.#cursor, since };
      for await (const message of this.#server.stream(watchRevocations, request, this.#refused, signal)) {
        silence.heard();
        this.#hear(message);
      }
      return 'the server ended the stream';
    } catch (error) {
      if (silent.signal.aborted) return 'the server was silent';
      const code = error instanceof IntrospectionError ? error.code : undefined;
      this.#refused = code === 'unauthenticated';
      if (code === 'out_of_range') {
        this.#cursor = '';
        this.#listener.onGap();
      }
      return error instanceof Error ? error.message : 'the stream failed';
    } finally {
      silence.stop();
    }
  }

  #hear(message: WatchRevocationsResponse): void {
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
    this.#failures = 0;
    this.#refused = false;
    this.#note(true, 'heard');
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
