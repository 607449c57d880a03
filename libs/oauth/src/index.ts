/**
 * Pure protocol: parameters, PKCE, scopes, redirect rules, the error table, claims, metadata.
 * No I/O, clock, randomness or environment: callers pass what it needs.
 *
 *     gateway ─> authorization-request, bearer, route-demand, redirect-response, metadata   what comes in and goes out
 *     authorize, device, token ─> pkce, redirect-uri, scopes, grant-types, claims-parameter   the rules
 *     token ─> claims, custom-claims, user-claims   what tokens say
 *     all ─> errors   code, status, sentence for the client, cause for the log
 */
export * from './errors.ts';
export * from './authorization-request.ts';
export * from './bearer.ts';
export * from './claims-parameter.ts';
export * from './claims.ts';
export * from './custom-claims.ts';
export * from './flat-grant.ts';
export * from './route-demand.ts';
export * from './grant-types.ts';
export * from './key-copies.ts';
export * from './metadata.ts';
export * from './pkce.ts';
export * from './public-jwk.ts';
export * from './redirect-response.ts';
export * from './redirect-uri.ts';
export * from './scopes.ts';
export * from './signing-algorithms.ts';
export * from './user-claims.ts';
