import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import fastifyCookie from '@fastify/cookie';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { plainLine, type Logger } from '@tessera/kit';
import { endpointPaths, OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { bodyLimit, count } from './body.ts';
import { answerBody, sendError, sendJson } from './body-route.ts';
import { contract } from './dialects/contract.ts';
import { asOAuthError } from './errors.ts';
import type { Gateway } from './gateway.ts';
import { commonHeaders, crossOriginHeaders } from './headers.ts';
import { peerOf, readIncoming, requestIdOf, type IncomingRules, type Peer } from './incoming.ts';
import { sendPageError, wantsHtml } from './pages/page.ts';
import { requestMetrics } from './request-metrics.ts';
import { traceOfRequest, traceRequests } from './request-traces.ts';
import { methodsOf, routes, type PageRoute, type ReadRoute, type Route } from './routes.ts';

export interface ServerOptions {
  /** Answers `GET /readyz` on the public listener. */
  readonly readiness?: (() => Promise<void>) | undefined;
  /** Aborted when the process begins to stop, while it still serves: connections are asked to leave as they are used. */
  readonly draining?: AbortSignal | undefined;
  /** Adds routes that are not the gateway's own. */
  readonly extensions?: readonly ((app: FastifyInstance) => void)[] | undefined;
}

/** Wires the table of routes, the pages and the limits into one HTTP server. */
export function createServer(gateway: Gateway, options: ServerOptions): FastifyInstance {
  const { kit } = gateway;
  const rules: IncomingRules = {
    proxies: gateway.config.TESSERA_TRUSTED_PROXIES,
    issuer: gateway.issuer,
    kit,
  };
  const app = fastify({
    ...limits,
    genReqId: (request: IncomingMessage) => requestIdOf(request, rules),
    frameworkErrors: (_error, _request, reply) => refuseAddress(reply as FastifyReply),
    clientErrorHandler: refuseConnection,
  });
  app.removeAllContentTypeParsers();
  // Every type is taken the same way; that of a named one is not looked at anew for every request.
  app.addContentTypeParser(
    ['application/json', 'application/x-www-form-urlencoded', '*'],
    { parseAs: 'buffer' },
    (_request, body, done) => done(null, body),
  );
  traceRequests(app, rules);
  prepareRequests(app, gateway, rules, options.draining);
  app.setErrorHandler((thrown, request, reply) =>
    sendError(request, reply, asOAuthError(thrown, request.id, kit.log)),
  );
  app.setNotFoundHandler((request, reply) => refuseRoute(request, reply, gateway));
  for (const route of routes) if (route.kind !== 'page') addRoute(app, route, gateway);
  for (const path of new Set(routes.filter((route) => route.crossOrigin).map((route) => route.path))) {
    addPreflight(app, path);
  }
  addPages(app, gateway);
  addFiles(app, gateway, options.readiness);
  addExtensions(app, gateway, options.extensions ?? []);
  return app;
}

const limits = {
  bodyLimit,
  // Our own shape of the 503 is answered in `prepareRequests`.
  return503OnClosing: false,
  forceCloseConnections: 'idle',
  exposeHeadRoutes: false,
  requestIdHeader: false,
  connectionTimeout: 30_000,
  requestTimeout: 15_000,
  // Longer than the idle time of common load balancers, so that they close first.
  keepAliveTimeout: 72_000,
  // Node looks for connections that are over their time every 30 s unless told otherwise.
  http: { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, connectionsCheckingInterval: 2_000 },
} as const;

/** What happens to every request before and after it is answered. */
function prepareRequests(
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
  const measure = requestMetrics();
  const log = requestLog(gateway.kit.log);
  app.addHook('onResponse', (request, reply, done) => {
    const { elapsedTime } = reply;
    // What is never answered, because its connection went away, counts no more either.
    peerOf(request.raw.socket, rules.proxies).waiting -= 1;
    measure(request, reply.statusCode, elapsedTime);
    log(request, reply.statusCode, elapsedTime);
    done();
  });
}

/** Never the address itself: queries carry codes, and unknown paths whatever was pasted. */
function requestLog(log: Logger): (request: FastifyRequest, status: number, milliseconds: number) => void {
  const plain = plainLine(log, 'request', ['requestId', 'method', 'route', 'status', 'ms', 'ipAddress']);
  return ({ id, method, route = '(none)', incoming, span, failure }, status, milliseconds) => {
    const ms = Math.round(milliseconds * 10) / 10;
    const { ipAddress } = incoming;
    if (span === undefined && failure === undefined) return plain(id, method, route, status, ms, ipAddress);
    const known = { requestId: id, method, route, status, ms, ipAddress };
    const errorCode = failure === undefined ? {} : { errorCode: failure };
    log.info({ ...known, ...traceOfRequest(span), ...errorCode }, 'request');
  };
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

/**
 * No path of ours has a percent sign: whoever leaves paths out at the edge by their bytes must not be passed by another
 * spelling of them. Two Host headers mean that somebody on the way may have read the other one (RFC 9112 §3.2).
 */
function addressProblem(request: FastifyRequest): OAuthError | undefined {
  const { url = '' } = request.raw;
  if (url.includes('%') && url.split('?', 1)[0]?.includes('%') === true)
    return new OAuthError('not_found', 'There is nothing at this address.');
  if (count(request.raw, 'host') > 1)
    return new OAuthError('invalid_request', 'The Host header is given more than once.');
  return undefined;
}

function addRoute(app: FastifyInstance, route: Exclude<Route, PageRoute>, gateway: Gateway): void {
  app.route({
    method: route.method,
    url: route.path,
    ...(route.crossOrigin
      ? { onRequest: (_request, reply, done) => (crossOriginHeaders(reply), done()) }
      : {}),
    handler:
      route.kind === 'body'
        ? (request, reply) => answerBody(route, request, reply, gateway)
        : (request, reply) => answerRead(route, request, reply, gateway),
  });
}

async function answerRead(
  route: ReadRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
): Promise<void> {
  const answer = await route.handle(request, reply, gateway);
  sendJson(reply, typeof answer === 'string' ? answer : JSON.stringify(answer));
}

/** CORS preflight (Fetch §3.2.2): no cookies, no other header than those a client needs. */
function addPreflight(app: FastifyInstance, path: string): void {
  const methods = methodsOf(path).join(', ');
  app.options(path, async (_request, reply) => {
    crossOriginHeaders(reply);
    return reply
      .code(204)
      .header('access-control-allow-methods', methods)
      .header('access-control-allow-headers', 'authorization, content-type')
      .header('access-control-max-age', '600')
      .send();
  });
}

function addPages(app: FastifyInstance, gateway: Gateway): void {
  app.register(async (pages) => {
    await pages.register(fastifyCookie, { hook: false });
    answerErrorsWithPages(pages, gateway);
    for (const route of routes) {
      if (route.kind !== 'page') continue;
      pages.route({
        method: route.method,
        url: route.path,
        handler: (request, reply) => route.handle({ app: pages, request, reply, gateway }),
      });
    }
  });
}

function answerErrorsWithPages(app: FastifyInstance, gateway: Gateway): void {
  app.setErrorHandler((thrown, request, reply) =>
    sendPageError(request, reply, gateway, asOAuthError(thrown, request.id, gateway.kit.log)),
  );
}

/** Routes of others live in a scope of their own, with parsed cookies. */
function addExtensions(
  app: FastifyInstance,
  gateway: Gateway,
  extensions: readonly ((app: FastifyInstance) => void)[],
): void {
  if (extensions.length === 0) return;
  app.register(async (scope) => {
    await scope.register(fastifyCookie);
    answerErrorsWithPages(scope, gateway);
    for (const extend of extensions) extend(scope);
  });
}

function addFiles(app: FastifyInstance, gateway: Gateway, readiness: ServerOptions['readiness']): void {
  for (const asset of gateway.views.assets) {
    app.get(asset.path, async (_request, reply) =>
      reply
        .header('cache-control', 'public, max-age=31536000, immutable')
        .type(asset.contentType)
        .send(asset.body),
    );
  }
  if (readiness === undefined) return;
  app.get('/readyz', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    const ready = await readiness().then(
      () => true,
      () => false,
    );
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready' });
  });
}

/** 405 for a path that exists, 404 for one that does not. */
function refuseRoute(request: FastifyRequest, reply: FastifyReply, gateway: Gateway): FastifyReply {
  const path = request.raw.url?.split('?', 1)[0] ?? '';
  const methods = methodsOf(path);
  if (methods.length > 0) reply.header('allow', methods.join(', '));
  const error =
    methods.length > 0
      ? new OAuthError('method_not_allowed', `This address takes ${methods.join(', ')}.`)
      : new OAuthError('not_found', 'There is nothing at this address.');
  return wantsHtml(request)
    ? sendPageError(request, reply, gateway, error)
    : sendError(request, reply, error);
}

/** An address with broken percent-encoding never reaches a route. */
function refuseAddress(reply: FastifyReply): void {
  reply.code(400).header('x-content-type-options', 'nosniff');
  void sendJson(reply, JSON.stringify(contract.failure('invalid_request', 'The address cannot be read.')));
}

/** Answers what is not readable as HTTP, without repeating any of it. */
function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = lowLevelStatus[error.code ?? ''] ?? '400 Bad Request';
  const body = JSON.stringify(contract.failure('invalid_request', 'The request could not be read.'));
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n` +
      `X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`,
  );
}

const lowLevelStatus: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
