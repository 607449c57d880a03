import { ServerInterceptingCall, status } from '@grpc/grpc-js';
import type { Metadata, ServerInterceptor, StatusObject } from '@grpc/grpc-js';
import { hash, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { requestIdKey } from './call-options.ts';
import type { CallerName } from './call.ts';
import { authorizationKey, callerKey } from './credentials.ts';
import { isCallerName } from './identity.ts';
import type { Secret } from '../secret.ts';

/** A peer that proved it belongs here, and the name it proved, if it has one. */
export interface AuthenticatedPeer {
  readonly caller: CallerName | undefined;
}

/** Establishes the peer of a call; undefined when it proved nothing. */
export type Identify = (metadata: Metadata) => AuthenticatedPeer | undefined;

/** Callers per method path; what is open to every authenticated peer has no list. */
export type AccessList = ReadonlyMap<string, readonly CallerName[] | 'authenticated'>;

const callerSlot = 'tessera.caller';

/** The caller the gate let in; handlers believe this and nothing the peer wrote. */
export function admittedCaller(metadata: Metadata): CallerName | undefined {
  const value = metadata.getOpaque(callerSlot);
  return typeof value === 'string' && isCallerName(value) ? value : undefined;
}

/** Every call of the server passes here before its message is read. A path without an entry is closed. */
export function gate(identify: Identify, access: AccessList, log: Logger): ServerInterceptor {
  return (method, call) =>
    new ServerInterceptingCall(call, {
      start: (next) => {
        next({
          onReceiveMetadata: (metadata, forward) => {
            const peer = identify(metadata);
            const refusal = refuse(peer, access.get(method.path), method.path);
            if (refusal === undefined) {
              metadata.setOpaque(callerSlot, peer?.caller);
              forward(metadata);
              return;
            }
            const requestId = metadata.get(requestIdKey)[0]?.toString();
            const { details } = refusal;
            log.warn(
              { method: method.path, caller: peer?.caller, peer: call.getPeer(), requestId, details },
              'call refused',
            );
            call.sendStatus(refusal);
          },
        });
      },
    });
}

function refuse(
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
    return timingSafeEqual(digest(presented), expected) ? identifyByClaim(metadata) : undefined;
  };
}

/** The value of the authorization metadata for a shared token. */
export function bearer(token: Secret): string {
  return `Bearer ${token.reveal()}`;
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
