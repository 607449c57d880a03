/**
 * Interactive sign-in. Owns the Redis keys `authorize:*` (visits, codes) and the Postgres schema `authorize` (sessions
 * and their ends, known browsers). Checks authorization requests, signs people in, issues and takes codes, signs people
 * out. It never issues a token, never stores a password or an opaque value in clear, and never lets Redis alone decide
 * that a session lives or that a code is unused.
 *
 *     gateway ─┐            ┌─> interaction/  what comes next in a visit ─┬─> request/ checks requests, codes/ issues codes
 *     token ───┴─> service ─┤                                             ├─> methods/ steps: password, factors ──> directory
 *                           │                                             └─> consent/ what people allow applications
 *                           └─> account/, logout/ ─> sessions/ ──> Postgres
 *     directory ─ changes ──> sessions/ ends sessions ──> logout notices, which token fetches
 *     store/ ──> Redis: visits and codes; Postgres: sessions, known browsers, notices
 */
export { buildAuthorize, migrations } from './wiring.ts';
export type { AuthorizePeers } from './wiring.ts';
export { createConsentStore } from './consent/consents.postgres.ts';
export { createConsentCount } from './consent/count-consents.ts';
export { createSelectCounting } from './consent/counting-consents.ts';
export { createSessionCount } from './sessions/count-sessions.ts';
export { createSessionStore } from './store/session-store.postgres.ts';
export { authorizeConfig } from './config.ts';
export type { AuthorizeConfig } from './config.ts';
