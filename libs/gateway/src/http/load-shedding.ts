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
 * Refuses requests with 503, before their bodies are read, while many others are in progress and slow. A request counts from the
 * arrival of its body until its answer is handed over or its client left, so that clients take no place by sending or reading slowly.
 * Readiness is always answered.
 */
export function refuseOverload(app: FastifyInstance, { log, clock }: Pick<Runtime, 'log' | 'clock'>): void {
  /** When each request in progress began. */
  const inProgress = new Map<FastifyRequest, number>();
  let averageMs = 0;
  let refused = 0;
  let loggedAt = -Infinity;
  const isFull = (): boolean =>
    inProgress.size >= maxInProgress || (inProgress.size >= manyInProgress && averageMs > slowMs);
  const refuse = (request: FastifyRequest): OAuthError => {
    request.refused = true;
    refused += 1;
    if (clock.now() - loggedAt > logIntervalMs) {
      log.warn(
        { refused, inProgress: inProgress.size, averageMs: Math.round(averageMs) },
        'overloaded; requests are refused',
      );
      loggedAt = clock.now();
      refused = 0;
    }
    return overloaded;
  };
  const leave = (request: FastifyRequest): void => {
    const from = inProgress.get(request);
    if (from === undefined) return;
    inProgress.delete(request);
    averageMs += (clock.now() - from - averageMs) * weight;
  };
  app.addHook('onRequest', (request, _reply, done) => {
    done(isFull() && request.route !== '/readyz' ? refuse(request) : undefined);
  });
  app.addHook('preHandler', (request, reply, done) => {
    if (request.route === '/readyz') return done();
    // Full since its headers came.
    if (isFull()) return done(refuse(request));
    inProgress.set(request, clock.now());
    // A client that left must not count until its handler ends.
    reply.raw.once('close', () => leave(request));
    return done();
  });
  // `close` comes only when the client has read the answer.
  app.addHook('onSend', (request, _reply, payload, done) => {
    leave(request);
    done(null, payload);
  });
}
