import type { FastifyInstance, FastifyRequest } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import type { Runtime } from '@tessera/process';

/** Requests in progress that no client notices. */
const manyInProgress = 256;
/** What requests may take on average: half of the deadline of a call between services, after which all of them would fail. */
const slowMs = 1_000;
/** A burst of more would fill the memory before the first of it is answered. */
const maxInProgress = 2_048;
/** Weight of the latest answer in the average. */
const weight = 0.02;
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
 * Refuses requests with 503, before their bodies are read, while many others are in progress and slow. A request counts once its
 * body has arrived, so that slow clients take no place. Readiness is always answered.
 */
export function refuseOverload(app: FastifyInstance, { log, clock }: Pick<Runtime, 'log' | 'clock'>): void {
  let inProgress = 0;
  let averageMs = 0;
  let refused = 0;
  let loggedAt = -Infinity;
  const isFull = (): boolean =>
    inProgress >= maxInProgress || (inProgress >= manyInProgress && averageMs > slowMs);
  const refuse = (request: FastifyRequest): OAuthError => {
    request.refused = true;
    refused += 1;
    if (clock.now() - loggedAt > logIntervalMs) {
      log.warn({ refused, inProgress, averageMs: Math.round(averageMs) }, 'overloaded; requests are refused');
      loggedAt = clock.now();
      refused = 0;
    }
    return overloaded;
  };
  app.addHook('onRequest', (request, _reply, done) => {
    done(isFull() && request.route !== '/readyz' ? refuse(request) : undefined);
  });
  app.addHook('preHandler', (request, reply, done) => {
    if (request.route === '/readyz') return done();
    // Full since its headers came.
    if (isFull()) return done(refuse(request));
    const from = clock.now();
    inProgress += 1;
    // Not `onResponse`: it never comes for a client that left before its answer, and the request would count for ever.
    reply.raw.once('close', () => {
      inProgress -= 1;
      averageMs += (clock.now() - from - averageMs) * weight;
    });
    return done();
  });
}
