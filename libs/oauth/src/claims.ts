import { hash } from 'node:crypto';
import { OAuthError } from './errors.ts';
import { identityScopes } from './scopes.ts';

/** The `typ` header of an access token (RFC 9068 §2.1) and of an ID token (RFC 7519 §5.1). */
export const accessTokenType = 'at+jwt';
export const idTokenType = 'JWT';

export interface AccessTokenInput {
  readonly issuer: string;
  /** The user id; the client id for client credentials. */
  readonly subject: string;
  readonly clientId: string;
  readonly tenantId: string;
  readonly scopes: readonly string[];
  /** Roles of the user; empty for client credentials. */
  readonly roles: readonly string[];
  /** Audience of the granted API scopes; empty when there are none. */
  readonly resource: string;
  /** Seconds since the Unix epoch. */
  readonly issuedAt: number;
  /** Seconds. */
  readonly lifetime: number;
  /** Unique identifier of the token. */
  readonly tokenId: string;
}

/** Payload of an access token: the contract's claims and those of RFC 9068 §2.2. */
export interface AccessTokenClaims {
  readonly iss: string;
  readonly aud: string;
  readonly sub: string;
  readonly client_id: string;
  readonly scope: readonly string[];
  readonly role: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly jti: string;
  readonly tenant_id: string;
}

/** The claims of an access token. `aud` is one string: the API resource, or the issuer when only built-in scopes were granted. */
export function accessTokenClaims(input: AccessTokenInput): AccessTokenClaims {
  return {
    iss: input.issuer,
    aud: input.resource === '' ? input.issuer : input.resource,
    sub: input.subject,
    client_id: input.clientId,
    scope: input.scopes,
    role: input.roles,
    exp: input.issuedAt + input.lifetime,
    iat: input.issuedAt,
    jti: input.tokenId,
    tenant_id: input.tenantId,
  };
}

export interface IdTokenInput {
  readonly issuer: string;
  readonly subject: string;
  readonly clientId: string;
  /** Seconds since the Unix epoch. */
  readonly issuedAt: number;
  /** Seconds. */
  readonly lifetime: number;
  /** When the user signed in, seconds since the Unix epoch. */
  readonly authTime: number;
  /** `nonce` of the authorization request; undefined or empty if there was none. */
  readonly nonce: string | undefined;
  /** The access token issued together with it, for `at_hash`; undefined if none. */
  readonly accessToken: string | undefined;
  /** Session identifier; undefined or empty if there is no session. */
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
}

/** The claims of an ID token, without those that do not apply. */
export function idTokenClaims(input: IdTokenInput): IdTokenClaims {
  return {
    iss: input.issuer,
    sub: input.subject,
    aud: input.clientId,
    exp: input.issuedAt + input.lifetime,
    iat: input.issuedAt,
    auth_time: input.authTime,
    ...(isPresent(input.nonce) && { nonce: input.nonce }),
    ...(isPresent(input.accessToken) && { at_hash: accessTokenHash(input.accessToken) }),
    ...(isPresent(input.sessionId) && { sid: input.sessionId }),
  };
}

function isPresent(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}

/** `at_hash`: the hash of the access token issued together with an ID token (OIDC Core §3.1.3.6). */
export function accessTokenHash(accessToken: string): string {
  return leftHash(accessToken);
}

/** The left half of a token's SHA-256 in base64url: the hash that an RS256 ID token contains (OIDC Core §3.1.3.6). */
export function leftHash(token: string): string {
  return hash('sha256', token, 'buffer').subarray(0, 16).toString('base64url');
}

/** The profile of a user; empty texts are data that the user does not have. */
export interface UserProfile {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  readonly phoneNumber: string;
}

/** The UserInfo response (OIDC Core §5.3.2) with the claims of the contract. */
export interface UserInfoClaims {
  readonly sub: string;
  readonly name?: string;
  readonly email?: string;
  readonly phone_number?: string;
}

const noIdentityScope = 'The access token has no scope that releases claims.';

/** Throws `insufficient_scope` if no scope releases claims about a user (OIDC Core §5.4). */
export function requireIdentityScope(scopes: readonly string[]): void {
  if (scopes.some((scope) => identityScopes.has(scope))) return;
  throw new OAuthError('insufficient_scope', noIdentityScope);
}

/**
 * Whether an error is that of `requireIdentityScope`, so that a token with another scope would help. Recognised by its
 * message, as between processes an error consists only of code and message.
 */
export function lacksIdentityScope({ code, message }: OAuthError): boolean {
  return code === 'insufficient_scope' && message === noIdentityScope;
}

/**
 * The claims that an access token with these scopes releases about its user, without those that the user does not have.
 * Throws `insufficient_scope` if the token has no identity scope.
 */
export function userInfoClaims(user: UserProfile, scopes: readonly string[]): UserInfoClaims {
  requireIdentityScope(scopes);
  const releases = (scope: string, value: string) => scopes.includes(scope) && value !== '';
  return {
    sub: user.userId,
    ...(releases('profile', user.name) && { name: user.name }),
    ...(releases('email', user.email) && { email: user.email }),
    ...(releases('phone', user.phoneNumber) && { phone_number: user.phoneNumber }),
  };
}
