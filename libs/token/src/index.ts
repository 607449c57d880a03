/**
 * Tokens. Owns the Postgres schema `token`: refresh families, redemption markers, revocations and their audit rows.
 *
 * A new grant type is a file in `grants/`; refresh tokens are rotated by `store/rotate-refresh-token.postgres.ts`.
 *
 * It never signs by itself, never stores a token in any form, and never lets a store other than Postgres decide that a
 * code or token may still be used.
 *
 *     gateway ─> service ─┬─> pipeline/ ─> grants/   the phases; a grant redeems ──> authorize, device, own store/
 *                         │       └─> batched-signer ──> keys
 *     admin, operator ────┼─> impact/   what a change would end ──> own store/, authorize, device
 *                         ├─> revocation/   revoke, and the stream of revocations
 *     services, Envoy ────┴─> introspection/ ─> verification/   signature, claims, revocation ──> public keys
 *     counts/ <── pipeline/ counts in memory, and writes now and again; admin reads
 *     logout/ ──> fetches notices from authorize, signs and sends them
 */
export { buildToken, migrations } from './wiring.ts';
export type { TokenPeers } from './wiring.ts';
export { countEnded, type Counters } from './impact/count-ended.ts';
export { createFamilyCount } from './impact/count-families.ts';
export { createPostgresStores } from './store/store.postgres.ts';
export { tokenConfig, tokenSecret } from './config.ts';
export type { TokenConfig } from './config.ts';
export { introspectionListenerConfig, serveIntrospection } from './introspection/listener.ts';
export type { IntrospectionListenerConfig } from './introspection/listener.ts';
