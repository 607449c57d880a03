import { OAuthError } from './errors.ts';
import { identityScopes } from './scopes.ts';

/** A JSON value of a claim. */
export type ClaimValue = string | number | boolean | null | ClaimValue[] | ClaimObject;
export interface ClaimObject {
  [name: string]: ClaimValue;
}

/** The standard claims that each scope releases (OIDC Core §5.4) beside the four of the contract. */
const furtherClaims: Readonly<Record<string, readonly string[]>> = {
  profile: [
    'given_name',
    'family_name',
    'middle_name',
    'nickname',
    'preferred_username',
    'profile',
    'picture',
    'website',
    'gender',
    'birthdate',
    'zoneinfo',
    'locale',
    'updated_at',
  ],
  email: ['email_verified'],
  phone: ['phone_number_verified'],
  address: ['address'],
};

/** Every claim that `userInfoClaims` may release. */
export const userInfoClaimNames: readonly string[] = [
  'sub',
  'name',
  'email',
  'phone_number',
  ...Object.values(furtherClaims).flat(),
];

/** The profile of a user; empty texts are data that the user does not have. */
export interface UserProfile {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  readonly phoneNumber: string;
  /** Further standard claims by their names; undefined if the user has none. */
  readonly standardClaims?: Readonly<Record<string, ClaimValue>> | undefined;
}

/** The UserInfo response (OIDC Core §5.3.2): the claims of the contract, then further ones. */
export interface UserInfoClaims {
  readonly sub: string;
  readonly name?: string;
  readonly email?: string;
  readonly phone_number?: string;
  readonly [name: string]: ClaimValue;
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
    ...(user.standardClaims !== undefined && furtherClaimsOf(user.standardClaims, scopes)),
  };
}

function furtherClaimsOf(
  claims: Readonly<Record<string, ClaimValue>>,
  scopes: readonly string[],
): ClaimObject {
  const released = new Set(scopes.flatMap((scope) => furtherClaims[scope] ?? []));
  return Object.fromEntries(Object.entries(claims).filter(([name]) => released.has(name)));
}
