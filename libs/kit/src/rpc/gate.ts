import { Metadata, ServerInterceptingCall, status } from '@grpc/grpc-js';
import type { ServerInterceptor, StatusObject } from '@grpc/grpc-js';
import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError } from '@tessera/oauth';
import { hash, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { requestIdKey } from './call-options.ts';
import { acceptableRequestId, rootCall } from './call-options.ts';
import type { AuthenticateBearer, CallerName, Principal } from './call.ts';
import { authorizationKey, callerKey } from './credentials.ts';
import { isCallerName } from './identity.ts';
import { toStatus } from './wire-errors.ts';
import type { Secret } from '../secret.ts';

/** A peer that proved it belongs here, and the name it proved, if it has one. */
export interface AuthenticatedPeer {
  readonly caller: CallerName | undefined;
  readonly principal?: Principal | undefined;
  /** The authorization of the call was the proof, so it is no access token. */
  readonly bySharedToken?: boolean;
}

/** Establishes the peer of a call; undefined when it proved nothing. */
export type Identify = (metadata: Metadata) => AuthenticatedPeer | undefined;

export interface Access {
  /** `authenticated`: open to every peer that proved it belongs here. */
  readonly callers: readonly CallerName[] | 'authenticated';
  readonly bearer?: AuthenticateBearer | undefined;
}

/** Who may call, per method path. */
export type AccessList = ReadonlyMap<string, Access>;

const callerSlot = 'tessera.caller';
const principalSlot = 'tessera.principal';
const bearerTimeoutMs = 1_000;

/** The caller the gate let in; handlers believe this and nothing the peer wrote. */
export function admittedCaller(metadata: Metadata): CallerName | undefined {
  const value = metadata.getOpaque(callerSlot);
  return typeof value === 'string' && isCallerName(value) ? value : undefined;
}

export function admittedPrincipal(metadata: Metadata): Principal | undefined {
  return metadata.getOpaque(principalSlot) as Principal | undefined;
}

/** Every call of the server passes here before its message is read. A path without an entry is closed. */
export function gate(identify: Identify, access: AccessList, log: Logger): ServerInterceptor {
  return (method, call) =>
    new ServerInterceptingCall(call, {
      start: (next) => {
        next({
          onReceiveMetadata: (metadata, forward) => {
            const entry = access.get(method.path);
            const admit = (peer: AuthenticatedPeer | undefined): void => {
              const refusal = refuse(peer, entry?.callers, method.path);
              if (refusal !== undefined) return turnAway(refusal, peer);
              metadata.setOpaque(callerSlot, peer?.caller);
              metadata.setOpaque(principalSlot, peer?.principal);
              forward(metadata);
            };
            const turnAway = (
              refusal: Pick<StatusObject, 'code' | 'details' | 'metadata'>,
              peer?: AuthenticatedPeer,
            ): void => {
              const requestId = metadata.get(requestIdKey)[0]?.toString();
              const { details } = refusal;
              log.warn(
                { method: method.path, caller: peer?.caller, peer: call.getPeer(), requestId, details },
                'call refused',
              );
              call.sendStatus(refusal);
            };
            const peer = identify(metadata);
            const presented = peer?.bySharedToken === true ? undefined : presentedToken(metadata);
            if (entry?.bearer === undefined || presented === undefined) return admit(peer);
            const requestId = acceptableRequestId(metadata.get(requestIdKey)[0]?.toString());
            entry
              .bearer(presented, rootCall(requestId ?? 'bearer', bearerTimeoutMs))
              .then(admit)
              .catch((error: unknown) => turnAway(refusalOf(error, log)));
          },
        });
      },
    });
}

/** The access token in the authorization of a call (RFC 6750 §2.1). */
function presentedToken(metadata: Metadata): string | undefined {
  const authorization = metadata.get(authorizationKey)[0]?.toString() ?? '';
  return /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization)?.[1];
}

function refusalOf(error: unknown, log: Logger): StatusObject {
  if (error instanceof OAuthError || error instanceof ConnectError) return toStatus(error);
  log.error({ error }, 'an access token could not be judged');
  return toStatus(new ConnectError('internal error', Code.Internal));
}

function refuse(
  peer: AuthenticatedPeer | undefined,
  allowed: readonly CallerName[] | 'authenticated' | undefined,
  path: string,
): Pick<StatusObject, 'code' | 'details' | 'metadata'> | undefined {
  const refusal = refusalText(peer, allowed, path);
  return refusal && { ...refusal, metadata: new Metadata() };
}

function refusalText(
  peer: AuthenticatedPeer | undefined,
  allowed: readonly CallerName[] | 'authenticated' | undefined,
  path: string,
): Pick<StatusObject, 'code' | 'details'> | undefined {
  if (peer === undefined) return { code: status.UNAUTHENTICATED, details: 'the caller is not authenticated' };
  if (allowed === 'authenticated') return undefined;
  const { caller } = peer;
  if (caller === undefined) return { code: status.UNAUTHENTICATED, details: 'the caller has no name' };
  if (allowed?.includes(caller) === true) return undefined;
  return { code: status.PERMISSION_DENIED, details: `${caller} may not call ${path.slice(1)}` };
}

/** Everyone who reached the loopback address is believed the name it gives. */
export function identifyByClaim(metadata: Metadata): AuthenticatedPeer {
  const claimed = metadata.get(callerKey)[0]?.toString() ?? '';
  return { caller: isCallerName(claimed) ? claimed : undefined };
}

/** Holders of the shared token are believed the name they give. Digests are compared, in constant time. */
export function identifyByToken(token: Secret): Identify {
  const expected = digest(bearer(token));
  return (metadata) => {
    const presented = metadata.get(authorizationKey)[0]?.toString() ?? '';
    if (!timingSafeEqual(digest(presented), expected)) return undefined;
    return { ...identifyByClaim(metadata), bySharedToken: true };
  };
}

/** The value of the authorization metadata for a shared token. */
export function bearer(token: Secret): string {
  return `Bearer ${token.reveal()}`;
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
