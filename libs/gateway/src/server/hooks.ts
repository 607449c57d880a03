import type { FastifyInstance, FastifyRequest } from 'fastify';
import { traceFieldsOf, type Logger } from '@tessera/telemetry';
import { endpointPaths, OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { count } from '@tessera/pages';
import type { Gateway } from '../gateway.ts';
import { commonHeaders, crossOriginHeaders } from '../http/headers.ts';
import { isLogged } from './access-log.ts';
import { readIncoming, type IncomingRules } from '../http/incoming.ts';
import { bindCalls, cancelCalls } from './bounded-calls.ts';
import { clientLeft, watchRequestEnds } from './request-ends.ts';
import { measureRequest } from './request-metrics.ts';
import { crossOriginMethods } from '../routes.ts';
import { endSpan } from './request-traces.ts';

/** How long to wait for clients, in milliseconds. */
export interface Patience {
  /** For all headers of a request. */
  readonly headers: number;
  /** For all of a request, its headers included. */
  readonly request: number;
  /**
   * For any activity of a client during its answer, such as reading, and for reading all that the system has not taken.
   */
  readonly silence: number;
  /** Between two checks for requests that exceeded their time. */
  readonly interval: number;
}

/** Adds the hooks that run before and after every request. */
export function prepareRequests(
  app: FastifyInstance,
  gateway: Gateway,
  rules: IncomingRules,
  options: { readonly draining: AbortSignal | undefined; readonly patience: Patience },
): void {
  const https = gateway.config.TESSERA_ISSUER?.startsWith('https:') === true;
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  app.decorateRequest('failure', undefined);
  app.decorateRequest('refusal', undefined);
  app.decorateRequest('refused', false);
  app.decorateRequest('incoming');
  app.decorateRequest('route', undefined);
  const { log, clock } = gateway.runtime;
  const open = watchRequestEnds(app, clock, options.patience, (request, status, milliseconds) => {
    if (status === clientLeft) cancelCalls(request);
    measureRequest(request, status, milliseconds);
    endSpan(request, status);
    if (!request.refused && isLogged(request, status, gateway.config.TESSERA_ACCESS_LOG))
      logRequest(log, request, status, milliseconds);
  });
  app.addHook('onRequest', (request, reply, done) => {
    request.route = request.routeOptions.url;
    request.incoming = readIncoming(request.raw, request.id, rules);
    if (!open.add(request, reply)) return void request.raw.socket.destroy();
    commonHeaders(reply, request.id);
    if (crossOriginMethods.get(request.route ?? '')?.has(request.method) === true)
      crossOriginHeaders(request, reply);
    if (https || request.incoming.tenant?.issuer.startsWith('https:') === true)
      reply.header('strict-transport-security', 'max-age=31536000');
    done(closing ? temporarilyUnavailable() : (hostProblem(request) ?? addressProblem(request)));
  });
  // Its connection got an error answer before the request was read, so its result would be lost.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.raw.socket.writableEnded) return void request.raw.socket.destroy();
    done();
  });
  bindCalls(app);
  // An idle connection would delay the close until it times out, and a request sent on it at that moment would get no
  // answer (RFC 9112 §9.6).
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing || options.draining?.aborted === true) reply.header('connection', 'close');
    done(null, payload);
  });
}

/** Logs the route and never the URL: queries carry codes, and unknown paths may hold anything that was pasted. */
function logRequest(log: Logger, request: FastifyRequest, status: number, milliseconds: number): void {
  const { id: requestId, method, route = '(none)', incoming, span, failure: errorCode } = request;
  const ms = Math.round(milliseconds * 10) / 10;
  const { ipAddress } = incoming;
  const { clientId, phase, reason, received, hint } = request.refusal ?? {};
  const refusal = { errorCode, clientId, phase, reason, received, hint };
  const fields = { requestId, method, route, status, ms, ipAddress, ...traceFieldsOf(span), ...refusal };
  log.info(fields, 'request');
}

/** Paths whose answer names no host, and the one that answers a foreign host itself. */
const forEveryHost: ReadonlySet<string> = new Set(['/readyz', endpointPaths.openidConfiguration]);

/**
 * Refuses a host that is not allowed, or whose issuer is not known yet, before anything else in the request is read.
 */
function hostProblem(request: FastifyRequest): OAuthError | undefined {
  const { route: path = '' } = request;
  if (!request.incoming.isRouted && path !== '/readyz')
    return temporarilyUnavailable('the issuers of tenants are not known yet');
  if (forEveryHost.has(path) || path.startsWith('/assets/')) return undefined;
  try {
    request.incoming.issuer();
    return undefined;
  } catch (error) {
    if (error instanceof OAuthError) return error;
    throw error;
  }
}

/**
 * An encoded path, one that the router cuts at `#`, or the absolute form, whose host may differ from the Host header.
 */
const otherSpelling = /^(?:[^/]|[^?%#]*[%#])/;

/**
 * A proxy that blocks paths by their bytes must not be bypassed by another spelling of them. With two Host headers a
 * proxy on the way may have read the other one, and without one it may have added its own (RFC 9112 §3.2).
 */
function addressProblem(request: FastifyRequest): OAuthError | undefined {
  if (otherSpelling.test(request.raw.url ?? '')) return new OAuthError('not_found', 'Not found.');
  const { httpVersion, headers } = request.raw;
  if (httpVersion === '1.1' && headers.expect !== undefined && !/\b100-continue\b/i.test(headers.expect))
    return new OAuthError('expectation_failed', 'The Expect header is not supported.');
  const hosts = count(request.raw, 'host');
  if (hosts > 1) return new OAuthError('invalid_request', 'The Host header is given more than once.');
  if (httpVersion === '1.1' && hosts === 0)
    return new OAuthError('invalid_request', 'The Host header is missing.');
  return undefined;
}
