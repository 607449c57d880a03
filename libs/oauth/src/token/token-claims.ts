import { hash } from 'node:crypto';
import { resourcesIn } from './audiences.ts';
import { acrOf } from './authentication-class.ts';
import { defaultSigningAlgorithm, signingAlgorithms } from '../signing-algorithms.ts';

/** The `typ` header of an access token (RFC 9068 §2.1) and of an ID token (RFC 7519 §5.1). */
export const accessTokenType = 'at+jwt';
export const idTokenType = 'JWT';
/** The `typ` header of a logout token (OIDC Back-Channel Logout §2.4). */
export const logoutTokenType = 'logout+jwt';

/**
 * The `typ` headers that an access token may have: an API resource may choose that of ID tokens, for verifiers that
 * know no other. Whatever its `typ`, an access token has `client_id` and an ID token never has it.
 */
export const accessTokenTypes: readonly string[] = [accessTokenType, idTokenType];

/** When a person signed in, in seconds since the Unix epoch, and how (RFC 8176 §2); no methods if that is not known. */
interface Authentication {
  readonly time: number;
  readonly methods: readonly string[];
}

export interface AccessTokenInput {
  readonly issuer: string;
  /** The user id; the client id for client credentials. */
  readonly subject: string;
  readonly clientId: string;
  readonly tenantId: string;
  readonly scopes: readonly string[];
  /** Roles of the user; empty for client credentials. */
  readonly roles: readonly string[];
  /** The named resource, else the audience of the granted API scopes; empty if there is neither. */
  readonly resource: string;
  /** Further audiences. */
  readonly audiences?: readonly string[];
  /** Seconds since the Unix epoch. */
  readonly issuedAt: number;
  /** Seconds. */
  readonly lifetime: number;
  /** Unique identifier of the token. */
  readonly tokenId: string;
  /** Undefined if no person is involved. A refresh does not change it (RFC 9068 §2.2.1). */
  readonly authentication: Authentication | undefined;
  /** Claims that the client asked for at /userinfo in addition to those of its scopes. */
  readonly userinfoClaims: readonly string[];
}

/** Payload of an access token: the contract's claims and those of RFC 9068 §2.2. */
export interface AccessTokenClaims {
  readonly iss: string;
  /** A list if there are several. */
  readonly aud: string | readonly string[];
  readonly sub: string;
  readonly client_id: string;
  readonly scope: readonly string[];
  readonly role: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly jti: string;
  readonly tenant_id: string;
  /** Absent where no person signed in (RFC 9470 §6.1). */
  readonly auth_time?: number | undefined;
  readonly acr?: string | undefined;
  /**
   * Claims that the token releases at /userinfo in addition to those of its scopes (OIDC Core §5.5); absent if there
   * are none.
   */
  readonly userinfo_claims?: readonly string[] | undefined;
}

/** The payload of an access token whose `scope` is one text, separated by spaces (RFC 9068 §2.2.3). */
export function withScopeText(claims: AccessTokenClaims): object {
  return { ...claims, scope: claims.scope.join(' ') };
}

/**
 * The claims of an access token. `aud` is one string: the API resource, or the issuer without one; of several audiences
 * it is the list.
 */
export function accessTokenClaims(input: AccessTokenInput): AccessTokenClaims {
  return {
    iss: input.issuer,
    aud: audienceClaim(input),
    sub: input.subject,
    client_id: input.clientId,
    scope: input.scopes,
    role: input.roles,
    exp: input.issuedAt + input.lifetime,
    iat: input.issuedAt,
    jti: input.tokenId,
    tenant_id: input.tenantId,
    ...(input.authentication !== undefined && signInClaims(input.authentication)),
    ...(input.userinfoClaims.length > 0 && { userinfo_claims: input.userinfoClaims }),
  };
}

function audienceClaim({ issuer, resource, audiences = [] }: AccessTokenInput): string | string[] {
  const all = [...new Set([...resourcesIn(resource), ...audiences])];
  const [first = issuer, ...more] = all;
  return more.length === 0 ? first : all;
}

/** The claims about a sign-in that say whether it must be repeated (RFC 9470 §6.1). */
function signInClaims({ time, methods }: Authentication): { auth_time?: number; acr?: string } {
  const acr = acrOf(methods);
  // An approval by webhook has a time, but is no sign-in.
  return acr === undefined ? {} : { auth_time: time, acr };
}

export interface IdTokenInput {
  readonly issuer: string;
  readonly subject: string;
  readonly clientId: string;
  /** Seconds since the Unix epoch. */
  readonly issuedAt: number;
  /** Seconds. */
  readonly lifetime: number;
  readonly authentication: Authentication;
  /** `nonce` of the authorization request; undefined or empty if there was none. */
  readonly nonce: string | undefined;
  /** The access token issued together with it, for `at_hash`; undefined if none. */
  readonly accessToken: string | undefined;
  /** Undefined or empty if a webhook approved the request. */
  readonly sessionId: string | undefined;
}

/** Payload of an ID token (OIDC Core §2, `sid` of OIDC Front-Channel Logout §3). */
export interface IdTokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string;
  readonly exp: number;
  readonly iat: number;
  readonly auth_time: number;
  readonly nonce?: string;
  readonly at_hash?: string;
  readonly sid?: string;
  readonly acr?: string;
  readonly amr?: readonly string[];
}

/** The claims of an ID token, without those that do not apply. */
export function idTokenClaims(input: IdTokenInput): IdTokenClaims {
  const { methods } = input.authentication;
  const acr = acrOf(methods);
  return {
    iss: input.issuer,
    sub: input.subject,
    aud: input.clientId,
    exp: input.issuedAt + input.lifetime,
    iat: input.issuedAt,
    auth_time: input.authentication.time,
    ...(isPresent(input.nonce) && { nonce: input.nonce }),
    ...(isPresent(input.accessToken) && { at_hash: accessTokenHash(input.accessToken) }),
    ...(isPresent(input.sessionId) && { sid: input.sessionId }),
    ...(acr !== undefined && { acr, amr: methods }),
  };
}

/** Seconds that a logout token is valid; each attempt to deliver it has a new one (OIDC Back-Channel Logout §4). */
const logoutTokenLifetime = 120;

/** Payload of a logout token (OIDC Back-Channel Logout §2.4). It must not have a nonce. */
export function logoutTokenClaims(input: {
  readonly issuer: string;
  readonly subject: string;
  readonly clientId: string;
  readonly sessionId: string;
  /** The same for every attempt to deliver it. */
  readonly tokenId: string;
  /** Seconds since the Unix epoch. */
  readonly issuedAt: number;
}) {
  return {
    iss: input.issuer,
    sub: input.subject,
    aud: input.clientId,
    iat: input.issuedAt,
    exp: input.issuedAt + logoutTokenLifetime,
    jti: input.tokenId,
    sid: input.sessionId,
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  };
}

function isPresent(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}

/**
 * `at_hash`: the left half of the hash of the access token issued together with an ID token, with the digest of that
 * one's signature (OIDC Core §3.1.3.6).
 */
export function accessTokenHash(accessToken: string): string {
  const digest = hash(signingAlgorithms[defaultSigningAlgorithm].digest, accessToken, 'buffer');
  return digest.subarray(0, digest.length / 2).toString('base64url');
}
