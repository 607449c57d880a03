/**
 * Pure protocol: parameters, PKCE, scopes, redirect rules, the error table, claims, metadata.
 * No I/O, clock, randomness or environment: callers pass what it needs.
 *
 *     gateway ─> request/ (authorization-request, client-authentication, redirect-response), token/ (bearer, route-demand)
 *     authorize, device, token ─> request/ (pkce, redirect-uri, scopes, claims-parameter), grant-types   the rules
 *     token ─> token/ (token-claims, custom-claims, user-claims)   what tokens say
 *     authorize, directory ─> request/passkey-ceremony
 *     directory, admin ─> admin-scopes   the scopes and roles of administrators
 *     keys, verifiers ─> signing-algorithms, public-jwk; gateway ─> metadata; all ─> errors   code, status, sentence, cause
 */
export * from './admin-scopes.ts';
export * from './errors.ts';
export * from './grant-types.ts';
export * from './key-copies.ts';
export * from './metadata.ts';
export * from './public-jwk.ts';
export * from './signing-algorithms.ts';
export * from './user-id.ts';
export * from './request/authorization-request.ts';
export * from './request/claims-parameter.ts';
export * from './request/client-assertion.ts';
export * from './request/client-authentication.ts';
export * from './request/passkey-ceremony.ts';
export * from './request/pkce.ts';
export * from './request/redirect-response.ts';
export * from './request/redirect-uri.ts';
export * from './request/scopes.ts';
export * from './token/audiences.ts';
export * from './token/authentication-class.ts';
export * from './token/bearer.ts';
export * from './token/custom-claims.ts';
export * from './token/keycloak-tokens.ts';
export * from './token/route-demand.ts';
export * from './token/sign-in-methods.ts';
export * from './token/token-claims.ts';
export * from './token/token-roles.ts';
export * from './token/token-size.ts';
export * from './token/user-claims.ts';
