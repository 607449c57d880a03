/**
 * Pure protocol: parameters, PKCE, scopes, redirect rules, the error table, claims, metadata.
 * No I/O, clock, randomness or environment: callers pass what it needs.
 */
export * from './errors.ts';
export * from './authorization-request.ts';
export * from './bearer.ts';
export * from './claims-parameter.ts';
export * from './claims.ts';
export * from './custom-claims.ts';
export * from './flat-grant.ts';
export * from './forward-auth.ts';
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
