import type { FastifyReply, FastifyRequest } from 'fastify';
import { endpointPaths, otherPaths } from '@tessera/oauth';
import { methodsOfPages, type PageFacts } from '@tessera/pages';
import { backchannelAuthentication } from './endpoints/backchannel-endpoint.ts';
import { backchannelDecision } from './endpoints/backchannel-decision.ts';
import { deviceAuthorization } from './endpoints/device-authorization-endpoint.ts';
import {
  jwks,
  oauthAuthorizationServer,
  openidConfiguration,
  relatedOrigins,
} from './endpoints/discovery.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import { forwardAuth } from './endpoints/forward-auth.ts';
import { introspect } from './endpoints/introspect.ts';
import { providerLogout } from './endpoints/end-of-provider-session.ts';
import { revokeByContract, revokeByStandard } from './endpoints/revoke.ts';
import { token } from './endpoints/token.ts';
import { userinfo } from './endpoints/userinfo.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Gateway } from './gateway.ts';
import { pageTable } from './page-table.ts';
import type { PageHandler, Who } from './pages/page-context.ts';

/** Takes a body in the named dialects and answers JSON in the dialect of the request. */
export interface BodyRoute {
  readonly kind: 'body';
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly dialects: readonly Dialect['name'][];
  readonly crossOrigin: boolean;
  readonly handle: Endpoint;
}

/** Takes no body and answers JSON of one shape. */
export interface ReadRoute {
  readonly kind: 'read';
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly crossOrigin: boolean;
  readonly handle: (
    request: FastifyRequest,
    reply: FastifyReply,
    gateway: Gateway,
  ) => Promise<object | string>;
}

/** Answers people: HTML, or JSON to clients that do not ask for HTML. */
export interface PageRoute {
  readonly kind: 'page';
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly crossOrigin: false;
  readonly row: PageFacts<Who>;
  readonly handle: PageHandler;
}

export type Route = BodyRoute | ReadRoute | PageRoute;

const body = { kind: 'body', crossOrigin: false } as const;
const read = { kind: 'read', method: 'GET', crossOrigin: true } as const;

const page = { kind: 'page', crossOrigin: false } as const;

/** Everybody gets an answer: a page of persons signs them in at its own path (`page-table.test.ts`). */
const asksForItself = async () => undefined;

const at = endpointPaths;

/** The whole public surface: which path, which method, which dialect. Everything else is 404, 405 or 415. */
export const routes: readonly Route[] = [
  {
    ...body,
    method: 'POST',
    path: at.token,
    dialects: ['contract', 'standard'],
    handle: token,
    crossOrigin: true,
  },
  { ...body, method: 'POST', path: at.introspection, dialects: ['contract', 'standard'], handle: introspect },
  { ...body, method: 'DELETE', path: at.revocation, dialects: ['contract'], handle: revokeByContract },
  {
    ...body,
    method: 'POST',
    path: at.revocation,
    dialects: ['standard'],
    handle: revokeByStandard,
    crossOrigin: true,
  },
  {
    ...body,
    method: 'POST',
    path: at.deviceAuthorization,
    dialects: ['standard'],
    handle: deviceAuthorization,
  },
  {
    ...body,
    method: 'POST',
    path: at.backchannelAuthentication,
    dialects: ['standard'],
    handle: backchannelAuthentication,
  },
  {
    ...body,
    method: 'POST',
    path: otherPaths.backchannelDecision,
    dialects: ['contract', 'standard'],
    handle: backchannelDecision,
  },
  {
    ...body,
    method: 'POST',
    path: otherPaths.providerLogout,
    dialects: ['standard'],
    handle: providerLogout,
  },
  { ...read, path: at.userinfo, handle: userinfo },
  { ...read, method: 'POST', path: at.userinfo, handle: userinfo },
  { ...read, path: otherPaths.forwardAuth, crossOrigin: false, handle: forwardAuth },
  { ...read, path: at.openidConfiguration, handle: openidConfiguration },
  { ...read, path: at.authorizationServerMetadata, handle: oauthAuthorizationServer },
  { ...read, path: at.jwks, handle: jwks },
  { ...read, path: otherPaths.relatedOrigins, crossOrigin: false, handle: relatedOrigins },
  ...methodsOfPages(pageTable, asksForItself).map((method) => ({ ...page, ...method })),
];

/**
 * By path, the methods whose answers scripts of every origin may read, errors included, and `OPTIONS` for the
 * preflight.
 */
export const crossOriginMethods: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(
    Object.groupBy(
      routes.filter((route) => route.crossOrigin),
      ({ path }) => path,
    ),
  ).map(([path, ofPath = []]) => [path, new Set(['OPTIONS', ...ofPath.map(({ method }) => method)])]),
);

/** The methods of a path, for `Allow`; empty for a path that does not exist. */
export function methodsOf(path: string): string[] {
  const methods = new Set<string>();
  for (const route of routes) {
    if (!isAt(path, route)) continue;
    methods.add(route.method);
    if (route.crossOrigin) methods.add('OPTIONS');
  }
  return [...methods].sort();
}

/** A part of the path that begins with a colon stands for any. */
function isAt(path: string, route: Pick<Route, 'path'>): boolean {
  const parts = path.split('/');
  const ofRoute = route.path.split('/');
  return (
    parts.length === ofRoute.length &&
    ofRoute.every((part, index) => part === parts[index] || (part.startsWith(':') && parts[index] !== ''))
  );
}

/** The methods under which a path takes a dialect. */
export function methodsFor(path: string, dialect: Dialect['name']): string[] {
  return routes
    .filter((route) => route.kind === 'body' && route.path === path && route.dialects.includes(dialect))
    .map((route) => route.method);
}
