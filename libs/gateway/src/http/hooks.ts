import type { FastifyInstance, FastifyRequest } from 'fastify';
import { traceFieldsOf, type Logger } from '@tessera/telemetry';
import { endpointPaths, OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { count } from './body.ts';
import type { Gateway } from '../gateway.ts';
import { commonHeaders } from './headers.ts';
import { peerOf, readIncoming, type IncomingRules, type Peer } from './incoming.ts';
import { measureRequest } from '../request-metrics.ts';

/** What happens to every request before and after it is answered. */
export function prepareRequests(
  app: FastifyInstance,
  gateway: Gateway,
  rules: IncomingRules,
  draining: AbortSignal | undefined,
): void {
  const https = gateway.config.TESSERA_ISSUER?.startsWith('https:') === true;
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  app.decorateRequest('failure', undefined);
  app.decorateRequest('incoming');
  app.decorateRequest('route', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    if (isFlood(peerOf(request.raw.socket, rules.proxies))) return void request.raw.socket.destroy();
    request.route = request.routeOptions.url;
    request.incoming = readIncoming(request.raw, request.id, rules);
    commonHeaders(reply, request.id);
    if (https) reply.header('strict-transport-security', 'max-age=31536000');
    done(closing ? temporarilyUnavailable() : (hostProblem(request) ?? addressProblem(request)));
  });
  // A connection that is kept after its last answer would hold up the close until it times out, and whoever sends the
  // next request on it just then would get none (RFC 9112 §9.6).
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing || draining?.aborted === true) reply.header('connection', 'close');
    done(null, payload);
  });
  const { log } = gateway.kit;
  app.addHook('onResponse', (request, reply, done) => {
    const { elapsedTime } = reply;
    // What is never answered, because its connection went away, counts no more either.
    peerOf(request.raw.socket, rules.proxies).waiting -= 1;
    measureRequest(request, reply.statusCode, elapsedTime);
    logRequest(log, request, reply.statusCode, elapsedTime);
    done();
  });
}

/** Logs the route and never the URL: queries carry codes, and unknown paths may hold anything that was pasted. */
function logRequest(log: Logger, request: FastifyRequest, status: number, milliseconds: number): void {
  const { id: requestId, method, route = '(none)', incoming, span, failure: errorCode } = request;
  const ms = Math.round(milliseconds * 10) / 10;
  const { ipAddress } = incoming;
  const fields = { requestId, method, route, status, ms, ipAddress, ...traceFieldsOf(span), errorCode };
  log.info(fields, 'request');
}

/** What names no host, and what has an answer of its own for one that is not allowed. */
const forEveryHost: ReadonlySet<string> = new Set(['/readyz', endpointPaths.openidConfiguration]);

/** The refusal of a host that is not allowed, before anything of the request is looked at. */
function hostProblem(request: FastifyRequest): OAuthError | undefined {
  const { route: path = '' } = request;
  if (forEveryHost.has(path) || path.startsWith('/assets/')) return undefined;
  try {
    request.incoming.issuer();
    return undefined;
  } catch (error) {
    if (error instanceof OAuthError) return error;
    throw error;
  }
}

/** Requests of one connection that may wait for their answers to be read; browsers and clients have one. */
const maxPipelined = 16;

/** Whether a connection sends requests without reading the answers, which would be kept in memory for it. */
function isFlood(peer: Peer): boolean {
  peer.waiting += 1;
  return peer.waiting > maxPipelined;
}

/** An encoded path, one that the router cuts at `#`, and the absolute form, whose host may be another than that of Host. */
const otherSpelling = /^(?:[^/]|[^?%#]*[%#])/;

/**
 * Whoever leaves paths out at the edge by their bytes must not be passed by another spelling of them. Two Host headers mean
 * that somebody on the way may have read the other one (RFC 9112 §3.2).
 */
function addressProblem(request: FastifyRequest): OAuthError | undefined {
  if (otherSpelling.test(request.raw.url ?? ''))
    return new OAuthError('not_found', 'There is nothing at this address.');
  if (count(request.raw, 'host') > 1)
    return new OAuthError('invalid_request', 'The Host header is given more than once.');
  return undefined;
}
