import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError } from '@tessera/oauth';
import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http2';
import type { Logger } from 'pino';
import { acceptableRequestId, requestIdKey, rootCall } from './call-options.ts';
import type { AuthenticateBearer, CallerName, Principal } from './call.ts';
import { authorizationKey, callerKey } from './credentials.ts';
import { isCallerName } from './identity.ts';
import type { WireCall } from './wire-call.ts';
import { toStatus } from './wire-errors.ts';
import type { WireStatus } from './wire-errors.ts';
import type { Secret } from '@tessera/kit';

/** A peer that proved it belongs here, and the name it proved, if it has one. */
export interface AuthenticatedPeer {
  readonly caller: CallerName | undefined;
  readonly principal?: Principal | undefined;
  /** The authorization of the call was the proof, so it is no access token. */
  readonly bySharedToken?: boolean;
}

/** Establishes the peer of a call; undefined when it proved nothing. */
export type Identify = (headers: IncomingHttpHeaders) => AuthenticatedPeer | undefined;

/** One method of a server. */
export interface ServedMethod {
  /** Of the form `/<service>/<method>`. */
  readonly path: string;
  /** Who may call; `authenticated`: every peer that proved it belongs here. */
  readonly callers: readonly CallerName[] | 'authenticated';
  readonly bearer?: AuthenticateBearer | undefined;
  /** Takes a call whose caller was let in; handlers believe this peer and nothing the call says of itself. */
  serve(call: WireCall, peer: AuthenticatedPeer): void;
}

/** Every call of the server passes here before its message is read. */
export function admit(call: WireCall, method: ServedMethod, identify: Identify, log: Logger): void {
  const peer = identify(call.headers);
  const presented =
    method.bearer === undefined || peer?.bySharedToken === true ? undefined : presentedToken(call.headers);
  if (method.bearer === undefined || presented === undefined) return judge(call, method, peer, log);
  const requestId = requestIdOf(call.headers);
  method
    .bearer(presented, rootCall(requestId ?? 'bearer', bearerTimeoutMs))
    .then((bearer) => judge(call, method, bearer, log))
    .catch((error: unknown) => turnAway(call, method, undefined, refusalOf(error, log), log));
}

const bearerTimeoutMs = 1_000;

/** The request id of a call, if it has one that may be used. */
export function requestIdOf(headers: IncomingHttpHeaders): string | undefined {
  return acceptableRequestId(headers[requestIdKey]);
}

function judge(call: WireCall, method: ServedMethod, peer: AuthenticatedPeer | undefined, log: Logger): void {
  const refusal = refuse(peer, method);
  if (refusal !== undefined) turnAway(call, method, peer, refusal, log);
  else if (peer !== undefined && !call.ended) method.serve(call, peer);
}

function turnAway(
  call: WireCall,
  { path }: ServedMethod,
  peer: AuthenticatedPeer | undefined,
  refusal: WireStatus,
  log: Logger,
): void {
  const { details } = refusal;
  const about = { method: path, caller: peer?.caller, peer: call.peer, requestId: requestIdOf(call.headers) };
  log.warn({ ...about, details }, 'call refused');
  call.fail(refusal);
}

/** The access token in the authorization of a call (RFC 6750 §2.1). */
function presentedToken(headers: IncomingHttpHeaders): string | undefined {
  const authorization = headers[authorizationKey] ?? '';
  return /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization)?.[1];
}

function refusalOf(error: unknown, log: Logger): WireStatus {
  if (error instanceof OAuthError || error instanceof ConnectError) return toStatus(error);
  log.error({ error }, 'an access token could not be judged');
  return toStatus(new ConnectError('internal error', Code.Internal));
}

function refuse(
  peer: AuthenticatedPeer | undefined,
  { callers, path }: ServedMethod,
): WireStatus | undefined {
  if (peer === undefined) return { code: Code.Unauthenticated, details: 'the caller is not authenticated' };
  if (callers === 'authenticated') return undefined;
  const { caller } = peer;
  if (caller === undefined) return { code: Code.Unauthenticated, details: 'the caller has no name' };
  if (callers.includes(caller)) return undefined;
  return { code: Code.PermissionDenied, details: `${caller} may not call ${path.slice(1)}` };
}

/** Everyone who reached the loopback address is believed the name it gives. */
export function identifyByClaim(headers: IncomingHttpHeaders): AuthenticatedPeer {
  return { caller: claimedCaller(headers) };
}

/** Holders of the shared token are believed the name they give. What has its length is compared in constant time. */
export function identifyByToken(token: Secret): Identify {
  const expected = Buffer.from(bearer(token), 'latin1');
  return (headers) => {
    const presented = headers[authorizationKey];
    if (presented?.length !== expected.length) return undefined;
    if (!timingSafeEqual(Buffer.from(presented, 'latin1'), expected)) return undefined;
    return { caller: claimedCaller(headers), bySharedToken: true };
  };
}

function claimedCaller(headers: IncomingHttpHeaders): CallerName | undefined {
  const claimed = headers[callerKey];
  return typeof claimed === 'string' && isCallerName(claimed) ? claimed : undefined;
}

/** The value of the authorization metadata for a shared token. */
export function bearer(token: Secret): string {
  return `Bearer ${token.reveal()}`;
}
