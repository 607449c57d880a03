/**
 * The directory owns the durable records: tenants, applications and their secrets, API resources, scopes, roles, users
 * and their password hashes. It reads them, compares secrets and passwords, applies declared state and publishes changes.
 * It never issues anything, never returns a hash, and never finds a record of one tenant by an id of another.
 *
 *     authorize, device, token, gateway ─> service ───────┬─> store/             reads each kind ──> Postgres
 *                                                         └─> credentials/       compares secrets; hashes passwords, in a queue
 *     operator (tessera, TESSERA_APPLY_FILE) ─> declared/ reads YAML ─> admin-service ─> apply/ plans ─> commands of each kind
 *     operator, one record ─> *-calls of its kind ─> records/ ─> a plan of one record ─> commands of its kind
 *     each kind: tenants/ resources/ roles/ providers/ users/ applications/ ─> its fields in one table, checks, reads, commands
 *     operator, gateway: links with which people set their passwords ─> links/
 *     operator, TESSERA_BOOTSTRAP_ADMIN_FILE: the first administrator ─> bootstrap/
 *     authorize, operator: authenticator apps and recovery codes ─> second-factors/
 *     every kind of change that people hear of ─> mail/ an outbox ──> SMTP
 *     authorize: providers, and the people who sign in with them ─> providers/
 *     every change ──> ground/ locks, audit rows, feed ──> feed/ ──> watchers in the other services; ground/ knows no kind of record
 */
export { applyAtStart, applyConfig } from './apply/apply-at-start.ts';
export { bootstrapAtStart } from './bootstrap/bootstrap-at-start.ts';
export { applyFile, checkFile, diffFile, type ApplyFileOptions } from './apply/apply-file.ts';
export { isLoopback } from './apply/demo-data.ts';
export { buildDirectory, migrations, type DirectoryOptions } from './wiring.ts';
export type { MailTransport } from './mail/smtp.ts';
export { directoryConfig, directorySecret, type DirectoryConfig } from './config.ts';
export { DeclaredStateError, type Problem } from './declared/positions.ts';
export type { DeclaredApplication } from './applications/fields.ts';
export type { DeclaredTenant } from './declared/schema.ts';
export { declaredUserKeys } from './users/fields.ts';
export { bumpEpoch } from './epoch.ts';
export { findRefusedHashes, type RefusedHashes } from './credentials/refused-hashes.ts';
export { resolveDeclaredState, type ReferenceSources } from './declared/resolve.ts';
