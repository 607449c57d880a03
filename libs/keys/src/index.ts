/**
 * The signing keys. Owns the Postgres schema `keys`: key pairs, encrypted at rest, and their life cycle. Signs every
 * token. It never returns a private key, never interprets what it signs, and calls no other service.
 *
 *     token: sign ──────────────┐            ┌─> signer   crypto.sign on the thread pool
 *     gateway: getPublicKeys ───┼─> service ─┴─> key-rings ─> issuer-keys ─┬─> schedule   who signs now
 *     admin, operator ─> key-calls ─> key-rings                            ├─> held-keys   in memory ─> key-wrapper   encrypts private keys
 *     repeat ─> issuer-keys   follows the rotations of other processes     └─> store ──> Postgres
 */
export { buildKeys, migrations, requireKeyEncryptionKey, type KeysOptions } from './wiring.ts';
export { keysConfig, keysSecret } from './config.ts';
export type { KeysConfig } from './config.ts';
