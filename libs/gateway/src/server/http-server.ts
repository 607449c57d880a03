import type { IncomingMessage } from 'node:http';
import fastifyAccepts from '@fastify/accepts';
import fastifyCookie from '@fastify/cookie';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { withoutSchemas } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { limitRepeats } from '@tessera/telemetry';
import { bodyLimit, longestHead, wantsHtml } from '@tessera/pages';
import { sendError, sendJson } from '../http/answers.ts';
import { answerBody } from './body-route.ts';
import { contract } from '../dialects/contract.ts';
import { asOAuthError, type FailureLog } from '../http/error-answers.ts';
import type { Gateway } from '../gateway.ts';
import { chooseRequestId, urlBelowIssuer, type IncomingRules } from '../http/incoming.ts';
import { addKeycloakAnswers } from './keycloak-answers.ts';
import { addLooksFiles } from '../pages/looks-files.ts';
import { boundConnections, usualBounds, type ConnectionBounds } from './bounded-connections.ts';
import { sendPageError } from '../pages/send-page.ts';
import { prepareRequests, type Patience } from './hooks.ts';
import { watchEventLoopLoad } from './event-loop-load.ts';
import { refuseOverload } from './load-shedding.ts';
import { refuseConnection } from './refused-connections.ts';
import { traceRequests } from './request-traces.ts';
import { pageTable } from '../page-table.ts';
import {
  crossOriginMethods,
  methodsOf,
  routes,
  type PageRoute,
  type ReadRoute,
  type Route,
} from '../routes.ts';

export interface ServerOptions {
  /** Answers `GET /readyz` on the public listener. */
  readonly readiness?: (() => Promise<void>) | undefined;
  /** Aborted when the process starts to drain: it still serves, and each answer closes its connection. */
  readonly draining?: AbortSignal | undefined;
  /** Adds routes from outside the gateway. */
  readonly extensions?: readonly ((app: FastifyInstance) => void)[] | undefined;
  /** Default: ten seconds for headers and fifteen for a request. */
  readonly patience?: Patience | undefined;
  /** Default: 3,000 connections, 1,000 of one address. */
  readonly connections?: ConnectionBounds | undefined;
}

/** Node's default interval is 30 s. */
const usualPatience: Patience = { headers: 10_000, request: 15_000, silence: 30_000, interval: 2_000 };

/** Wires the table of routes, the pages and the limits into one HTTP server. */
export function createServer(gateway: Gateway, options: ServerOptions): FastifyInstance {
  const { runtime } = gateway;
  const rules: IncomingRules = {
    proxies: gateway.config.TESSERA_TRUSTED_PROXIES,
    issuer: gateway.issuer,
    tenants: gateway.tenants,
    runtime,
  };
  const patience = options.patience ?? usualPatience;
  const load = watchEventLoopLoad(patience.request);
  const app = fastify({
    ...limits(patience),
    rewriteUrl: (request) => urlBelowIssuer(request, rules),
    genReqId: (request: IncomingMessage) => chooseRequestId(request, rules),
    frameworkErrors: (_error, _request, reply) => refuseAddress(reply as FastifyReply),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, { load, gateway }),
  });
  boundConnections(app.server, rules.proxies, options.connections ?? usualBounds, runtime.log);
  // Node would answer 417 itself, without our headers: `prepareRequests` does it.
  app.server.on('checkExpectation', (request, response) => app.routing(request, response));
  app.addHook('onClose', (_app, done) => {
    load.close();
    done();
  });
  app.removeAllContentTypeParsers();
  // The bytes are kept as they are; `readBody` checks type and content. Fastify finds a named type faster than `*`.
  app.addContentTypeParser(
    ['application/json', 'application/x-www-form-urlencoded', '*'],
    { parseAs: 'buffer' },
    (_request, body, done) => done(null, body),
  );
  void app.register(fastifyAccepts);
  traceRequests(app, rules);
  prepareRequests(app, gateway, rules, { draining: options.draining, patience });
  const failures = { log: runtime.log, warnings: limitRepeats(runtime.log) };
  refuseOverload(app, runtime);
  app.setErrorHandler((thrown, request, reply) =>
    sendError(request, reply, asOAuthError(thrown, request.id, failures)),
  );
  app.setNotFoundHandler((request, reply) => refuseRoute(request, reply, gateway));
  for (const route of routes) if (route.kind !== 'page') addRoute(app, route, gateway);
  for (const [path, methods] of crossOriginMethods) addPreflight(app, path, methods);
  addPages(app, gateway, failures);
  addFiles(app, gateway, options.readiness);
  addKeycloakAnswers(app, gateway, addPreflight);
  addExtensions(app, gateway, failures, options.extensions ?? []);
  return app;
}

function limits(patience: Patience) {
  return {
    bodyLimit,
    schemaController: withoutSchemas,
    // Before it listens the server waits for the directory, in calls with deadlines of their own.
    pluginTimeout: 0,
    // `prepareRequests` answers the 503 in the shape of the dialect.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    requestIdHeader: false,
    connectionTimeout: patience.silence,
    requestTimeout: patience.request,
    // Longer than the idle time of common load balancers, so that they close first.
    keepAliveTimeout: 72_000,
    http: {
      maxHeaderSize: longestHead,
      // Node would answer 400 itself, without our headers: `prepareRequests` does it.
      requireHostHeader: false,
      headersTimeout: patience.headers,
      connectionsCheckingInterval: patience.interval,
    },
  } as const;
}

function addRoute(app: FastifyInstance, route: Exclude<Route, PageRoute>, gateway: Gateway): void {
  app.route({
    method: route.method,
    url: route.path,
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
function addPreflight(app: FastifyInstance, path: string, methods: ReadonlySet<string>): void {
  app.options(path, async (_request, reply) => {
    return reply
      .code(204)
      .header('access-control-allow-methods', [...methods].join(', '))
      .header('access-control-allow-headers', 'authorization, content-type')
      .header('access-control-max-age', '600')
      .send();
  });
}

function addPages(app: FastifyInstance, gateway: Gateway, failures: FailureLog): void {
  app.register(async (pages) => {
    await pages.register(fastifyCookie, { hook: false });
    answerErrorsWithPages(pages, gateway, failures);
    // Pages lead to each other by their paths below the issuer.
    pages.addHook('onSend', (request, reply, payload, done) => {
      const location = reply.getHeader('location');
      const { basePath = '' } = request.incoming.tenant ?? {};
      if (typeof location === 'string' && location.startsWith('/'))
        reply.header('location', basePath + location);
      done(null, payload);
    });
    for (const route of routes) {
      if (route.kind !== 'page') continue;
      pages.route({
        method: route.method,
        url: route.path,
        handler: (request, reply) =>
          route.handle({ app: pages, request, reply, gateway, row: route.row, rows: pageTable }),
      });
    }
  });
}

function answerErrorsWithPages(app: FastifyInstance, gateway: Gateway, failures: FailureLog): void {
  app.setErrorHandler((thrown, request, reply) =>
    sendPageError(request, reply, gateway, asOAuthError(thrown, request.id, failures)),
  );
}

/** Added routes have a scope of their own, with parsed cookies. */
function addExtensions(
  app: FastifyInstance,
  gateway: Gateway,
  failures: FailureLog,
  extensions: readonly ((app: FastifyInstance) => void)[],
): void {
  if (extensions.length === 0) return;
  app.register(async (scope) => {
    await scope.register(fastifyCookie);
    answerErrorsWithPages(scope, gateway, failures);
    for (const extend of extensions) extend(scope);
  });
}

function addFiles(app: FastifyInstance, gateway: Gateway, readiness: ServerOptions['readiness']): void {
  for (const asset of gateway.templates.assets) {
    app.get(asset.path, async (_request, reply) =>
      reply
        .header('cache-control', 'public, max-age=31536000, immutable')
        .type(asset.contentType)
        .send(asset.body),
    );
  }
  addLooksFiles(app, gateway);
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
      ? new OAuthError('method_not_allowed', `This path takes ${methods.join(', ')}.`)
      : new OAuthError('not_found', 'Not found.');
  return wantsHtml(request)
    ? sendPageError(request, reply, gateway, error)
    : sendError(request, reply, error);
}

/** A URL with broken percent-encoding never reaches a route. */
function refuseAddress(reply: FastifyReply): void {
  reply.code(400).headers({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
  void sendJson(reply, JSON.stringify(contract.failure('invalid_request', 'The URL could not be read.')));
}
