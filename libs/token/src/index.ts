/**
 * Tokens. Owns the Postgres schema `token`: refresh families, redemption markers, revocations and their audit rows.
 *
 * - `grants/`: one file per grant type; a new one goes here. `refresh-token.ts` rotates refresh tokens, by the statement in
 *   `store/rotate-refresh-token.postgres.ts`.
 * - `pipeline/`: what every token request passes: the phases, and what the grants share.
 * - `push/`: tokens that are pushed to clients (CIBA).
 * - `introspection/`: introspection, and what each caller may see. `verification/`: signature and claims of tokens.
 * - `revocation/`: revocation, and the stream of revocations.
 * - `store/`: the stores and their statements.
 *
 * It never signs by itself, never stores a token in any form, and never lets a store other than Postgres decide that a
 * code or token may still be used.
 */
export { buildToken, migrations } from './wiring.ts';
export type { TokenPeers } from './wiring.ts';
export { tokenConfig, tokenSecret } from './config.ts';
export type { TokenConfig } from './config.ts';
export { introspectionListenerConfig, serveIntrospection } from './introspection/listener.ts';
export type { IntrospectionListenerConfig } from './introspection/listener.ts';
