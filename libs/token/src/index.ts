/**
 * Tokens. Owns the Postgres schema `token`: refresh families, redemption markers and their audit rows; exchanges grants
 * for tokens, issues those that `device` pushes, introspects and revokes them, releases claims. It never signs by itself, never stores a token in any form,
 * and never decides from a store that is not Postgres that something may still be used.
 */
export { buildToken, migrations } from './build.ts';
export type { TokenPeers } from './build.ts';
export { tokenConfig } from './config.ts';
export type { TokenConfig } from './config.ts';
export { introspectionListenerConfig, serveIntrospection } from './introspection/listener.ts';
export type { IntrospectionListenerConfig } from './introspection/listener.ts';
