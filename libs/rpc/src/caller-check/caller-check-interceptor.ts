import { Code, ConnectError } from '@connectrpc/connect';
import { Metadata, ServerInterceptingCall, status } from '@grpc/grpc-js';
import type { ServerInterceptingCallInterface, ServerInterceptor, StatusObject } from '@grpc/grpc-js';
import type { Secret } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { limitRepeats } from '@tessera/telemetry';
import { hash, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { acceptableRequestId, requestIdKey, rootCall } from '../call-options.ts';
import type { AuthenticateBearer, CallerName, Principal } from '../call.ts';
import { authorizationKey, callerKey, type RpcCredentials } from '../credentials.ts';
import { toStatus } from '../error-status.ts';
import { certifiedName, isCallerName } from './caller-of-certificate.ts';

/** A caller that proved it belongs here, and the name it proved, if it has one. */
interface AuthenticatedCaller {
  readonly caller: CallerName | undefined;
  readonly principal?: Principal | undefined;
  /** The authorization of the call was the proof, so it is not an access token. */
  readonly bySharedToken?: boolean;
}

/** Who may call a method. */
export interface Access {
  /** `authenticated`: every caller that proved it belongs here. */
  readonly callers: readonly CallerName[] | 'authenticated';
  readonly bearer?: AuthenticateBearer | undefined;
}

export interface AdmissionOptions {
  readonly credentials: RpcCredentials;
  /** By path: `/<service>/<method>`. A method without an entry is closed. */
  readonly access: ReadonlyMap<string, Access>;
  readonly log: Logger;
}

const bearerTimeoutMs = 1_000;
const callerSlot = 'tessera.caller';

/** The caller that was admitted; handlers believe this and nothing that the call says of itself. */
export function admittedCaller(metadata: Metadata): {
  caller: CallerName;
  principal?: Principal | undefined;
} {
  const admitted = metadata.getOpaque(callerSlot) as AuthenticatedCaller | undefined;
  if (admitted?.caller === undefined) throw new Error('call without a caller');
  return { caller: admitted.caller, principal: admitted.principal };
}

/**
 * The caller allow-list as an interceptor, and the streams that it let in. Every call of a server is judged here by its
 * metadata and certificate, before its message is handed to a handler.
 */
export function createAdmission({ credentials, access, log }: AdmissionOptions) {
  const identify = identifierFor(credentials);
  const warnings = limitRepeats(log);
  const streams = new Set<ServerInterceptingCallInterface>();
  let ending = false;
  const interceptor: ServerInterceptor = ({ path, requestStream, responseStream }, call) => {
    const entry = access.get(path);
    const judge = async (metadata: Metadata): Promise<AuthenticatedCaller | undefined> => {
      const caller = identify(metadata, call);
      const token = caller?.bySharedToken === true ? undefined : presentedToken(metadata);
      if (entry?.bearer === undefined || token === undefined) return caller;
      const requestId = requestIdIn(metadata) ?? 'bearer';
      return entry.bearer(token, rootCall(requestId, bearerTimeoutMs));
    };
    const turnAway = (refusal: StatusObject, metadata: Metadata, caller?: CallerName): void => {
      const { details } = refusal;
      const about = { method: path, caller, peer: call.getPeer(), requestId: requestIdIn(metadata) };
      // The path of a method that does not exist is any text.
      const cause = [entry === undefined ? '' : path, refusal.code, caller ?? ''].join(' ');
      warnings.warn(cause, { ...about, details }, 'call refused');
      call.sendStatus(refusal);
    };
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, forward) => {
            if (requestStream || responseStream) streams.add(call);
            judge(metadata).then(
              (caller) => {
                const refusal = refusalOf(caller, entry, path);
                if (refusal !== undefined) return turnAway(refusal, metadata, caller?.caller);
                if (ending && streams.has(call)) return call.sendStatus(shuttingDown);
                metadata.setOpaque(callerSlot, caller);
                forward(metadata);
              },
              (error: unknown) => turnAway(statusOfBearer(error, log), metadata),
            );
          },
          onCancel: () => void streams.delete(call),
        }),
    });
  };
  /** Ends every stream, also one that arrives later: its consumer comes back and reaches another replica. */
  const endStreams = (): void => {
    ending = true;
    for (const call of streams) call.sendStatus(shuttingDown);
  };
  return { interceptor, endStreams };
}

function refused(code: status, details: string): StatusObject {
  return { code, details, metadata: new Metadata() };
}

const shuttingDown = refused(status.UNAVAILABLE, 'the server is shutting down');

/** The request id of a call, if it has one that may be used. */
export function requestIdIn(metadata: Metadata): string | undefined {
  return acceptableRequestId(metadata.get(requestIdKey)[0]);
}

function refusalOf(
  authenticated: AuthenticatedCaller | undefined,
  access: Access | undefined,
  path: string,
): StatusObject | undefined {
  if (authenticated === undefined) return refused(status.UNAUTHENTICATED, 'the caller is not authenticated');
  if (access?.callers === 'authenticated') return undefined;
  const { caller } = authenticated;
  if (caller === undefined) return refused(status.UNAUTHENTICATED, 'the caller has no name');
  if (access?.callers.includes(caller) === true) return undefined;
  return refused(status.PERMISSION_DENIED, `${caller} may not call ${path.slice(1)}`);
}

function statusOfBearer(error: unknown, log: Logger): StatusObject {
  if (error instanceof OAuthError || error instanceof ConnectError) return toStatus(error);
  log.error({ error }, 'cannot judge an access token');
  return toStatus(new ConnectError('internal error', Code.Internal));
}

/** The access token in the authorization of a call (RFC 6750 §2.1). */
function presentedToken(metadata: Metadata): string | undefined {
  const authorization = String(metadata.get(authorizationKey)[0] ?? '');
  return /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization)?.[1];
}

/** Establishes who calls; undefined if the caller proved nothing. */
type Identify = (
  metadata: Metadata,
  call: ServerInterceptingCallInterface,
) => AuthenticatedCaller | undefined;

function identifierFor(credentials: RpcCredentials): Identify {
  if (credentials.kind === 'mtls') return identifyByCertificate(credentials.trustDomain);
  return credentials.kind === 'token' ? identifyByToken(credentials.token) : identifyByClaim;
}

/** Everyone who reached the loopback address is believed the name it gives. */
function identifyByClaim(metadata: Metadata): AuthenticatedCaller {
  const claimed = String(metadata.get(callerKey)[0] ?? '');
  return { caller: isCallerName(claimed) ? claimed : undefined };
}

/** Holders of the shared token are believed the name they give. Digests are compared, in constant time. */
function identifyByToken(token: Secret): Identify {
  const expected = digest(bearerAuthorization(token));
  return (metadata) => {
    const presented = String(metadata.get(authorizationKey)[0] ?? '');
    if (!timingSafeEqual(digest(presented), expected)) return undefined;
    return { ...identifyByClaim(metadata), bySharedToken: true };
  };
}

/** grpc-js shows a certificate only if one of our authorities signed it. Introspectors are told apart by its name. */
function identifyByCertificate(trustDomain: string | undefined): Identify {
  return (_, call) => {
    const certificate = call.getAuthContext().sslPeerCertificate;
    if (certificate === undefined) return undefined;
    const proof = certifiedName(certificate.subjectaltname, trustDomain);
    if (proof?.caller !== 'introspector') return { caller: proof?.caller };
    return { caller: proof.caller, principal: { kind: 'certificate', id: proof.name } };
  };
}

/** The value of the authorization metadata for a shared token. */
export function bearerAuthorization(token: Secret): string {
  return `Bearer ${token.reveal()}`;
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
