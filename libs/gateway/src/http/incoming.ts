import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { readTraceparent, traceparentKey, type SpanContext } from '@tessera/telemetry';
import { uuid } from '@tessera/kit';
import { triesBearer, type Refusal } from '@tessera/oauth';
import { type Runtime } from '@tessera/process';
import { callerAddress, normalizeAddress, type Networks } from './caller-address.ts';
import { lastValue, unknownHost, type IssuerRule } from '../issuer/issuer-rule.ts';
import type { IssuerRouter, Routed, TenantIssuer } from '../issuer/issuer-router.ts';

/** Who a request comes from and which issuer it was sent to: the only place where forwarded headers are read. */
export interface Incoming {
  readonly requestId: string;
  /** Address of the caller; '' when the connection is already gone. */
  readonly ipAddress: string;
  /** Whether it is known which issuer the request was sent to; if not, refuse the request. */
  readonly isRouted: boolean;
  /** The tenant whose own issuer the request was sent to; undefined at the shared issuer. */
  readonly tenant: TenantIssuer | undefined;
  /** Whether it was sent to a path of Keycloak, where nobody expects the dialect of the contract. */
  readonly isKeycloakPath: boolean;
  /** Throws `invalid_request` for a host that is not allowed. */
  issuer(): string;
  /** The caller in the messages to services. Throws like `issuer`. */
  caller(): { ipAddress: string; issuer: string; tenantId: string };
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before anything else looks at the request. */
    incoming: Incoming;
    /** Path of its route; undefined where there is none. Fastify puts its own together anew whenever it is asked. */
    route: string | undefined;
    /** Code of the error it was answered with, for the access log. */
    failure: string | undefined;
    /** What the log says of the client that was refused. */
    refusal: Refusal | undefined;
    /** Whether it was refused because of an overload, which is logged for many requests together. */
    refused: boolean;
    /** Gives its place back, because the request waits for a server of others from now on. */
    yieldPlace: () => void;
  }
}

export interface IncomingRules {
  readonly proxies: Networks;
  readonly issuer: IssuerRule;
  readonly tenants: IssuerRouter;
  readonly runtime: Pick<Runtime, 'clock' | 'random'>;
}

/** Reads the connection and, if it comes from a trusted proxy, what that proxy says about it. */
export function readIncoming(request: IncomingMessage, requestId: string, rules: IncomingRules): Incoming {
  const { headers } = request;
  const { address, trusted } = connectionOf(request.socket, rules.proxies);
  const ipAddress = trusted
    ? callerAddress(address, single(headers['x-forwarded-for']), rules.proxies)
    : address;
  const { tenant, isKeycloakPath = false } = routed.get(request) ?? {};
  const issuer = () => {
    if (tenant !== undefined) return tenant.issuer;
    const shared = rules.issuer.resolve({
      host: headers.host,
      forwardedHost: trusted ? single(headers['x-forwarded-host']) : undefined,
      forwardedProto: trusted ? single(headers['x-forwarded-proto']) : undefined,
    });
    // However the host is written, no tenant at the shared issuer is served under the issuer of another.
    if (!rules.issuer.explicit && rules.tenants.isOfTenant(shared)) throw unknownHost();
    return shared;
  };
  const caller = () => ({ ipAddress, issuer: issuer(), tenantId: tenant?.tenantId ?? '' });
  return { requestId, ipAddress, isRouted: !unrouted.has(request), tenant, isKeycloakPath, issuer, caller };
}

const routed = new WeakMap<IncomingMessage, Routed>();
const unrouted = new WeakSet<IncomingMessage>();

/**
 * The URL of a request below the issuer it was sent to. Notes for `readIncoming` the tenant, or that the issuers are
 * not known.
 */
export function urlBelowIssuer(request: IncomingMessage, rules: IncomingRules): string {
  const { headers, socket, url = '' } = request;
  if (!rules.tenants.isKnown()) {
    unrouted.add(request);
    return url;
  }
  const { trusted } = connectionOf(socket, rules.proxies);
  const forwarded = trusted ? lastValue(single(headers['x-forwarded-host'])) : undefined;
  const found = rules.tenants.route(forwarded ?? headers.host ?? '', url, isScript(request));
  if (found === undefined) return url;
  routed.set(request, found);
  return found.url;
}

/** Whether a request has an access token, or asks whether one may have it (Fetch §3.2.2): no page does. */
function isScript({ method, headers }: IncomingMessage): boolean {
  const asked = single(headers['access-control-request-headers']) ?? '';
  return method === 'OPTIONS' ? /\bauthorization\b/i.test(asked) : triesBearer(headers.authorization);
}

/** The id of a request: a trusted proxy's `X-Request-Id` if it is a plain word, else a new one. */
export function chooseRequestId(request: IncomingMessage, rules: IncomingRules): string {
  if (connectionOf(request.socket, rules.proxies).trusted) {
    const given = single(request.headers['x-request-id']);
    if (given !== undefined && /^[\w.-]{1,64}$/.test(given)) return given;
  }
  return uuid();
}

/** The trace that a trusted proxy says the request belongs to. */
export function traceContextOf(request: IncomingMessage, rules: IncomingRules): SpanContext | undefined {
  return connectionOf(request.socket, rules.proxies).trusted
    ? readTraceparent(request.headers[traceparentKey])
    : undefined;
}

/** SHA-256 of the User-Agent header, base64url; '' without one. */
export function userAgentHash(request: IncomingMessage): string {
  const agent = request.headers['user-agent'];
  return agent === undefined ? '' : createHash('sha256').update(agent).digest('base64url');
}

/** The other end of a TCP connection, the same for every request on it. */
interface Connection {
  /** '' when the connection is already gone. */
  readonly address: string;
  /** Whether it is a trusted proxy. */
  readonly trusted: boolean;
}

const connections = new WeakMap<Socket, Connection>();

function connectionOf(socket: Socket, proxies: Networks): Connection {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const address = normalizeAddress(socket.remoteAddress ?? '');
  const connection = { address, trusted: !proxies.isEmpty && proxies.contains(address) };
  connections.set(socket, connection);
  return connection;
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
