import type { Secret } from '@tessera/kit';
import { hash, timingSafeEqual } from 'node:crypto';
import { authorizationKey, callerKey, type RpcServerCredentials } from '../credentials.ts';
import { certifiedName, isCallerName } from './caller-of-certificate.ts';
import type { AuthenticatedCaller, IdentityHelp } from './check-caller.ts';

/** What a call presents to prove whose it is, whatever carries it. */
export interface Presented {
  /** The value of a header, or of its like; '' without it. */
  header(name: string): string;
  /** The certificate of the connection, which one of our authorities signed, with its names as Node prints them. */
  certificate(): { readonly subjectaltname?: string | undefined } | undefined;
}

/** Authenticates the caller of a call; undefined if it presents no valid credentials. */
type Authenticate = (presented: Presented) => AuthenticatedCaller | undefined;

/** The authentication that the credentials of this process call for. */
export function authenticationBy(credentials: RpcServerCredentials): Authenticate {
  if (credentials.kind === 'mtls') return authenticateByCertificate(credentials.trustDomain);
  if (credentials.kind === 'token') return authenticateByToken(credentials);
  return credentials.kind === 'none' ? authenticateByClaim : () => undefined;
}

/**
 * Says what the credentials of this process call for. Names no value.
 * @param takesAccessTokens whether the method does
 */
export function identityHelp(credentials: RpcServerCredentials, takesAccessTokens: boolean): IdentityHelp {
  const { kind } = credentials;
  const accessToken = takesAccessTokens ? [`send "${authorizationKey}: Bearer <access token>"`] : [];
  const orAccessToken = (...others: string[]) => [...others, ...accessToken].join(', or ');
  if (kind === 'bearer') return { unauthenticated: orAccessToken(), unnamed: orAccessToken() };
  if (kind === 'mtls') {
    return {
      unauthenticated: orAccessToken('present a client certificate'),
      unnamed: orAccessToken('the certificate names no process'),
    };
  }
  const token = kind === 'token' && credentials.of !== undefined ? 'token' : 'TESSERA_RPC_TOKEN';
  return {
    unauthenticated: orAccessToken(`send "${authorizationKey}: Bearer <${token}>"`),
    unnamed: orAccessToken(`send "${callerKey}: <process>"`),
  };
}

/** A caller that reaches the loopback address may claim any name. */
function authenticateByClaim({ header }: Presented): AuthenticatedCaller {
  const claimed = header(callerKey);
  return { caller: isCallerName(claimed) ? claimed : undefined };
}

/**
 * A caller with the shared token, or a proof of it, may claim any name, unless the token has one. Digests are compared,
 * in constant time.
 */
function authenticateByToken({
  token,
  of,
  prover,
}: RpcServerCredentials & { readonly kind: 'token' }): Authenticate {
  const expected = digest(bearerAuthorization(token));
  return (presented) => {
    const isShown = timingSafeEqual(digest(presented.header(authorizationKey)), expected);
    if (!isShown && prover?.isProven(presentedToken(presented) ?? '') !== true) return undefined;
    const authenticated = of === undefined ? authenticateByClaim(presented) : { caller: of };
    return { ...authenticated, bySharedToken: true };
  };
}

/** The name in the certificate distinguishes introspectors. */
function authenticateByCertificate(trustDomain: string | undefined): Authenticate {
  return (presented) => {
    const certificate = presented.certificate();
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
export function presentedToken({ header }: Presented): string | undefined {
  return /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header(authorizationKey))?.[1];
}
