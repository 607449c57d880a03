import type { Metadata, ServerInterceptingCallInterface } from '@grpc/grpc-js';
import type { Secret } from '@tessera/kit';
import { hash, timingSafeEqual } from 'node:crypto';
import { authorizationKey, callerKey, type RpcServerCredentials } from '../credentials.ts';
import { certifiedName, isCallerName } from './caller-of-certificate.ts';
import type { AuthenticatedCaller, IdentityHelp } from './check-caller.ts';

/** Authenticates the caller of a call; undefined if it presents no valid credentials. */
type Authenticate = (
  metadata: Metadata,
  call: ServerInterceptingCallInterface,
) => AuthenticatedCaller | undefined;

/** The authentication that the credentials of this process call for. */
export function authenticationBy(credentials: RpcServerCredentials): Authenticate {
  if (credentials.kind === 'mtls') return authenticateByCertificate(credentials.trustDomain);
  if (credentials.kind === 'token') return authenticateByToken(credentials.token);
  return credentials.kind === 'none' ? authenticateByClaim : () => undefined;
}

/**
 * Says what the credentials of this process call for. Names no value.
 * @param takesAccessTokens whether the method does
 */
export function identityHelp({ kind }: RpcServerCredentials, takesAccessTokens: boolean): IdentityHelp {
  const accessToken = takesAccessTokens ? [`send "${authorizationKey}: Bearer <access token>"`] : [];
  const orAccessToken = (...others: string[]) => [...others, ...accessToken].join(', or ');
  if (kind === 'bearer') return { unauthenticated: orAccessToken(), unnamed: orAccessToken() };
  if (kind === 'mtls') {
    return {
      unauthenticated: orAccessToken('present a client certificate'),
      unnamed: orAccessToken('the certificate names no process'),
    };
  }
  return {
    unauthenticated: orAccessToken(`send "${authorizationKey}: Bearer <TESSERA_RPC_TOKEN>"`),
    unnamed: orAccessToken(`send "${callerKey}: <process>"`),
  };
}

/** A caller that reaches the loopback address may claim any name. */
function authenticateByClaim(metadata: Metadata): AuthenticatedCaller {
  const claimed = String(metadata.get(callerKey)[0] ?? '');
  return { caller: isCallerName(claimed) ? claimed : undefined };
}

/** A caller with the shared token may claim any name. Digests are compared, in constant time. */
function authenticateByToken(token: Secret): Authenticate {
  const expected = digest(bearerAuthorization(token));
  return (metadata) => {
    const presented = String(metadata.get(authorizationKey)[0] ?? '');
    if (!timingSafeEqual(digest(presented), expected)) return undefined;
    return { ...authenticateByClaim(metadata), bySharedToken: true };
  };
}

/** grpc-js shows a certificate only if one of our authorities signed it. Its name distinguishes introspectors. */
function authenticateByCertificate(trustDomain: string | undefined): Authenticate {
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

/** The access token in the authorization of a call (RFC 6750 §2.1). */
export function presentedToken(metadata: Metadata): string | undefined {
  const authorization = String(metadata.get(authorizationKey)[0] ?? '');
  return /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization)?.[1];
}
