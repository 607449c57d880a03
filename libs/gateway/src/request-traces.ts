import type { FastifyInstance } from 'fastify';
import { activeTracer, traceFieldsOf, type Span } from '@tessera/telemetry';
import { traceContextOf, type IncomingRules } from './http/incoming.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Where the request is traced. */
    span: Span | undefined;
  }
}

/** What is asked for by machines all day, or says nothing of a request. */
const isDull = (route: string | undefined): boolean =>
  route === '/readyz' || route?.startsWith('/assets/') === true;

/**
 * A span for every request that is sampled, by the path of its route, from before anything looks at it until its answer is
 * sent. Without traces nothing hangs on a request.
 */
export function traceRequests(app: FastifyInstance, rules: IncomingRules): void {
  const tracer = activeTracer();
  if (tracer === undefined) return;
  app.decorateRequest('span', undefined);
  app.addHook('onRequest', (request, _reply, done) => {
    const { method, routeOptions } = request;
    if (isDull(routeOptions.url)) return done();
    const route = routeOptions.url ?? '(none)';
    request.span = tracer.root(
      {
        name: `${method} ${route}`,
        kind: 'server',
        attributes: {
          'http.request.method': method,
          'http.route': route,
          'tessera.request_id': request.id,
        },
      },
      traceContextOf(request.raw, rules),
    );
    if (request.span === undefined) return done();
    tracer.run(request.span, done);
  });
  // The body is read in between, in the course of the connection and not of the request.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.span === undefined) return done();
    tracer.run(request.span, done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { span, failure } = request;
    if (span !== undefined) {
      span.set('http.response.status_code', reply.statusCode);
      if (failure !== undefined) span.set('error.type', failure);
      span.isFault = reply.statusCode >= 500;
      tracer.end(span);
    }
    done();
  });
}

/** What the access log says of the trace of a request. */
export function traceOfRequest(span: Span | undefined): object {
  return span === undefined ? {} : traceFieldsOf(span);
}
