/**
 * The signing keys. Owns the Postgres schema `keys`: key pairs, encrypted at rest, and their life cycle. Signs every token. It never returns a private key, never interprets what it signs, and calls no other service.
 */
export { buildKeys, migrations, type KeysOptions } from './wiring.ts';
export { keysConfig, keysSecret } from './config.ts';
export type { KeysConfig } from './config.ts';
