/**
 * Pure protocol: parameters, PKCE, scopes, redirect rules, the error table, claims.
 * No I/O, no clock, no randomness, no environment: whatever it needs is handed to it.
 */
export * from './errors.ts';
