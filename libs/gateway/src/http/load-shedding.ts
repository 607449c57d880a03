import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import type { Runtime } from '@tessera/process';

/**
 * Requests that are answered at once. One process answers a few hundred a second, so more than this would wait longer than their
 * clients do, and what is done for a client that has gone is lost.
 */
const maxInFlight = 256;
/** Mean delay of the event loop beyond which requests wait for it longer than they should. */
const maxDelayMs = 200;
const sampleMs = 100;
const resolutionMs = 10;
const retryAfterSeconds = 2;
/** Between two lines about it in the log. */
const logIntervalMs = 10_000;

/** Made once: an error with a stack for each would cost as much as some answers. */
export const overloaded = new OAuthError(
  'temporarily_unavailable',
  'The service is overloaded. Try again in a moment.',
  { retryAfterSeconds },
);

/**
 * Refuses requests with 503, before their bodies are read, while `maxInFlight` others are being answered or the event loop is
 * late. A request counts once its body has arrived, so that slow clients take no place. Readiness is always answered.
 */
export function refuseOverload(app: FastifyInstance, { log, clock }: Pick<Runtime, 'log' | 'clock'>): void {
  const isLate = watchEventLoop(app);
  let inFlight = 0;
  let refused = 0;
  let loggedAt = -Infinity;
  const refuse = (request: FastifyRequest): OAuthError => {
    request.refused = true;
    refused += 1;
    if (clock.now() - loggedAt > logIntervalMs) {
      log.warn({ refused, inFlight, isLate: isLate() }, 'overloaded; requests are refused');
      loggedAt = clock.now();
      refused = 0;
    }
    return overloaded;
  };
  app.decorateRequest('counted', false);
  app.addHook('onRequest', (request, _reply, done) => {
    const isFull = inFlight >= maxInFlight || isLate();
    done(isFull && request.route !== '/readyz' ? refuse(request) : undefined);
  });
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.route === '/readyz') return done();
    // Full since its headers came.
    if (inFlight >= maxInFlight) return done(refuse(request));
    inFlight += 1;
    request.counted = true;
    return done();
  });
  app.addHook('onResponse', (request, _reply, done) => {
    if (request.counted) inFlight -= 1;
    done();
  });
}

/** Whether the event loop was late on average since the last sample. */
function watchEventLoop(app: FastifyInstance): () => boolean {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  let isLate = false;
  let sampling: NodeJS.Timeout | undefined;
  app.addHook('onListen', (done) => {
    histogram.enable();
    sampling = setInterval(() => {
      isLate = histogram.mean / 1e6 - resolutionMs > maxDelayMs;
      histogram.reset();
    }, sampleMs).unref();
    done();
  });
  app.addHook('onClose', (_app, done) => {
    clearInterval(sampling);
    histogram.disable();
    done();
  });
  return () => isLate;
}
