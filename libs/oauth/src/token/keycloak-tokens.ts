import type { AccessTokenClaims, IdTokenClaims } from './token-claims.ts';
import { claimNamesOf, claimsOfUser, type UserProfile } from './user-claims.ts';

/**
 * Whether a tenant issues tokens as Keycloak does, for applications that were made for it. They look for them at an
 * issuer of its own alone.
 */
export function issuesLikeKeycloak(tenant: { readonly issuer: string; readonly endpoints: string }): boolean {
  return tenant.issuer !== '' && tenant.endpoints === 'keycloak';
}

/** The claim `typ` of an access token and of an ID token of Keycloak; its applications tell them apart by it. */
export const keycloakAccessTokenTyp = 'Bearer';
export const keycloakIdTokenTyp = 'ID';

/** What the scopes `profile` and `email` add to the access tokens of Keycloak by default. */
const claimsOfPerson: ReadonlySet<string> = new Set([
  'name',
  'given_name',
  'family_name',
  'preferred_username',
  'email',
  'email_verified',
]);

/**
 * The payload of an access token as Keycloak has it.
 * @param of the session, empty without one, and the person, undefined without one
 */
export function likeKeycloaksAccessToken(
  claims: AccessTokenClaims,
  of: { readonly sessionId: string; readonly person: UserProfile | undefined },
): object {
  const released = claimNamesOf(claims.scope).filter((name) => claimsOfPerson.has(name));
  return {
    ...(of.person && claimsOfUser(of.person, released)),
    ...claims,
    scope: claims.scope.join(' '),
    typ: keycloakAccessTokenTyp,
    azp: claims.client_id,
    ...(of.sessionId !== '' && { sid: of.sessionId }),
  };
}

/** The payload of an ID token as Keycloak has it. */
export function likeKeycloaksIdToken(claims: IdTokenClaims): object {
  return { ...claims, typ: keycloakIdTokenTyp, azp: claims.aud };
}
