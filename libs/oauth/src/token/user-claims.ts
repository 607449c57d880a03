import { OAuthError } from '../errors.ts';

/** A JSON value of a claim. */
export type ClaimValue = string | number | boolean | null | ClaimValue[] | ClaimObject;
export interface ClaimObject {
  [name: string]: ClaimValue;
}

/** The scopes that release claims in addition to `sub`. */
export const scopesWithClaims = ['profile', 'email', 'phone', 'address'] as const;

/** Scopes that release claims about a user (OIDC Core §5.4): those of the contract, and `address`. */
export const identityScopes: ReadonlySet<string> = new Set(['openid', ...scopesWithClaims]);

/** The standard claims that each scope releases (OIDC Core §5.4). */
const claimsOfScope: Readonly<Partial<Record<string, readonly string[]>>> = {
  profile: [
    'name',
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
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
  address: ['address'],
};

/** Every claim that `userInfoClaims` may release. */
export const userInfoClaimNames: readonly string[] = ['sub', ...claimNamesOf(scopesWithClaims)];

/** The profile of a user; empty texts are data that the user does not have. */
export interface UserProfile {
  readonly userId: string;
  /** `preferred_username`, unless the standard claims have one. */
  readonly username: string;
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
 * @param requested claims that the client asked for by name (OIDC Core §5.5)
 */
export function userInfoClaims(
  user: UserProfile,
  scopes: readonly string[],
  requested: readonly string[] = [],
): UserInfoClaims {
  requireIdentityScope(scopes);
  return { sub: user.userId, ...claimsOfUser(user, [...claimNamesOf(scopes), ...requested]) };
}

/** The claims of these names that the user has, without `sub`. */
export function claimsOfUser(user: UserProfile, names: readonly string[]): ClaimObject {
  const wanted = new Set(names);
  const claims = {
    name: user.name,
    email: user.email,
    phone_number: user.phoneNumber,
    preferred_username: user.username,
    ...user.standardClaims,
  };
  return Object.fromEntries(
    Object.entries(claims).filter(([name, value]) => wanted.has(name) && value !== ''),
  );
}

/** The names of the claims that these scopes release. */
export function claimNamesOf(scopes: readonly string[]): string[] {
  return scopes.flatMap((scope) => claimsOfScope[scope] ?? []);
}

/**
 * Those of the requested claims (OIDC Core §5.5) that a scope of the application releases, so that asking by name gives
 * no more than asking by scope.
 */
export function entitledClaims(
  requested: readonly string[],
  applicationScopes: readonly { readonly name: string }[],
): string[] {
  const entitled = new Set(claimNamesOf(applicationScopes.map(({ name }) => name)));
  return requested.filter((name) => entitled.has(name));
}
