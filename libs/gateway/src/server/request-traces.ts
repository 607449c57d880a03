import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isTracing, markFault, runInSpan, startRootSpan, type Span } from '@tessera/telemetry';
import { traceContextOf, type IncomingRules } from '../http/incoming.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if the request is traced. */
    span: Span | undefined;
  }
}

/** Routes that machines request all day, and static files. */
const isUntraced = (route: string | undefined): boolean =>
  route === '/readyz' || route?.startsWith('/assets/') === true;

/** A span for every sampled request, by the path of its route; `endSpan` ends it. Without traces there are no hooks. */
export function traceRequests(app: FastifyInstance, rules: IncomingRules): void {
  if (!isTracing()) return;
  app.decorateRequest('span', undefined);
  app.addHook('onRequest', (request, _reply, done) => {
    if (!isUntraced(request.routeOptions.url)) request.span = startSpan(request, rules);
    within(request, done);
  });
  // The body is read in between, in the context of the connection and not of the request.
  app.addHook('preHandler', (request, _reply, done) => within(request, done));
}

/** Ends the span of a request, if it has one, with the status that was answered. */
export function endSpan({ span, failure }: FastifyRequest, status: number): void {
  if (span === undefined) return;
  span.setAttribute('http.response.status_code', status);
  if (failure !== undefined) span.setAttribute('error.type', failure);
  markFault(span, status >= 500);
  span.end();
}

function startSpan(request: FastifyRequest, rules: IncomingRules): Span | undefined {
  const { method, id, routeOptions } = request;
  const route = routeOptions.url ?? '(none)';
  const attributes = { 'http.request.method': method, 'http.route': route, 'tessera.request_id': id };
  const parent = traceContextOf(request.raw, rules);
  return startRootSpan({ name: `${method} ${route}`, kind: 'server', attributes }, parent);
}

function within({ span }: FastifyRequest, done: () => void): void {
  if (span === undefined) done();
  else runInSpan(span, done);
}
