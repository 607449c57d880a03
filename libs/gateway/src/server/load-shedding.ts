import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { OAuthError } from '@tessera/oauth';
import type { Runtime } from '@tessera/process';
import { overloaded } from '../http/error-answers.ts';
import { createLoopGauge } from './event-loop-load.ts';

/**
 * Requests in progress while the event loop is busy: more at once are answered no sooner, and hide clients that left.
 */
const placesWhileBusy = 64;
/**
 * Requests in progress otherwise: fewer with each answer while answers are slow on average, more again while they are
 * quick.
 */
const places = { fewest: 256, most: 1_024, less: 4, more: 1 };
/** Half of the time after which calls between services end, and all who wait for them get 503. */
const slowMs = 1_000;
const quickMs = 500;
/** Weight of the latest answer in the average. */
const weight = 0.02;
/** A burst of more would fill the memory before the first of it is answered. */
const mostHeld = 4_096;
/** How long a request waits for a place. A client that is refused sooner asks again sooner. */
const patienceMs = 2_000;
/** How often requests that wait are looked at while none is answered. */
const checkMs = 100;
/** Between two lines about it in the log. */
const logIntervalMs = 10_000;

interface Waiting {
  readonly since: number;
  /** Goes on with the request, or refuses it. */
  readonly go: (error?: OAuthError) => void;
}

/**
 * Lets requests wait for a place, first come, first served, while the event loop is busy or answers are slow, and
 * refuses with 503 those that waited for two seconds. A request holds its place until its answer is handed over or its
 * client left, so that clients take none by sending or reading slowly, or until it waits for a server of others.
 * Readiness is always answered.
 */
export function refuseOverload(
  app: FastifyInstance,
  { log, clock }: Pick<Runtime, 'log' | 'clock'>,
  isLoopBusy = createLoopGauge(checkMs),
): void {
  /** When each request in progress began. */
  const inProgress = new Map<FastifyRequest, number>();
  /** Oldest first. */
  const waiting = new Map<FastifyRequest, Waiting>();
  let averageMs = 0;
  let granted = places.most;
  let refused = 0;
  let loggedAt = -Infinity;
  let check: NodeJS.Timeout | undefined;
  let isStarting = false;

  const hasPlace = (): boolean => {
    const isBusy = inProgress.size >= placesWhileBusy && isLoopBusy();
    return inProgress.size < granted && !isBusy;
  };
  const isFull = (): boolean => inProgress.size + waiting.size >= mostHeld;
  const refuse = (request: FastifyRequest): OAuthError => {
    request.refused = true;
    refused += 1;
    if (clock.now() - loggedAt > logIntervalMs) {
      const held = { inProgress: inProgress.size, waiting: waiting.size, averageMs: Math.round(averageMs) };
      log.warn({ refused, ...held }, 'overloaded; requests are refused');
      loggedAt = clock.now();
      refused = 0;
    }
    return overloaded;
  };
  const begin = (request: FastifyRequest, go: Waiting['go']): void => {
    inProgress.set(request, clock.now());
    go();
  };
  const startWaiting = (): void => {
    isStarting = false;
    for (const [request, { go, since }] of waiting) {
      const isLate = clock.now() - since >= patienceMs;
      if (!isLate && !hasPlace()) break;
      waiting.delete(request);
      if (isLate) go(refuse(request));
      else begin(request, go);
    }
    if (waiting.size > 0) check ??= setTimeout(checkWaiting, checkMs).unref();
  };
  const checkWaiting = (): void => {
    check = undefined;
    startWaiting();
  };
  /** In the next turn of the event loop, which has read by then who left. */
  const startSoon = (): void => {
    if (isStarting || waiting.size === 0) return;
    isStarting = true;
    setImmediate(startWaiting);
  };
  /** For a server of others, which says nothing about how busy this process is. Its own bound is that of `places`. */
  const yieldPlace = (request: FastifyRequest): void => {
    if (inProgress.delete(request)) startSoon();
  };
  const leave = (request: FastifyRequest): void => {
    waiting.delete(request);
    const from = inProgress.get(request);
    if (from === undefined) return;
    inProgress.delete(request);
    averageMs += (clock.now() - from - averageMs) * weight;
    if (averageMs > slowMs) granted = Math.max(places.fewest, granted - places.less);
    else if (averageMs < quickMs) granted = Math.min(places.most, granted + places.more);
    startSoon();
  };

  app.decorateRequest('yieldPlace', function (this: FastifyRequest) {
    yieldPlace(this);
  });
  app.addHook('onRequest', (request, _reply, done) => {
    done(isFull() && request.route !== '/readyz' ? refuse(request) : undefined);
  });
  app.addHook('preHandler', (request, reply, done) => {
    if (request.route === '/readyz') return done();
    // Full since its headers came.
    if (isFull()) return done(refuse(request));
    // A client that left must not count until its handler ends.
    reply.raw.once('close', () => leave(request));
    if (waiting.size === 0 && hasPlace()) return begin(request, done);
    waiting.set(request, { since: clock.now(), go: done });
    check ??= setTimeout(checkWaiting, checkMs).unref();
  });
  // `close` comes only when the client has read the answer.
  app.addHook('onSend', (request, _reply, payload, done) => {
    leave(request);
    done(null, payload);
  });
}
