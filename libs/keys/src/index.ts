/**
 * The signing keys. Owns the Postgres schema `keys`: key pairs, encrypted at rest, and their life cycle; makes the RS256
 * signatures of every token. It never hands out a private key, never looks into what it signs, and calls no other service.
 */
export { buildKeys, migrations, type KeysOptions } from './build.ts';
export { keysConfig } from './config.ts';
export type { KeysConfig } from './config.ts';
