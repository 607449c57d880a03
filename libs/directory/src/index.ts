/**
 * The directory owns the durable records: tenants, applications and their secrets, API resources, scopes, roles, users
 * and their password hashes. It reads them, compares secrets, applies declared state and publishes changes. What people
 * can prove and change is the room `people` of the same process and schema, which imports this one. It never issues
 * anything, never returns a hash, and never finds a record of one tenant by an id of another.
 *
 *     people: openDirectory ─> wiring ─┬─> service ─> reads of store/, secrets/ of applications
 *                                      └─> calls/ ─┬─> apply/ a document ─> declared/ reads YAML ─> plans/ ─┐
 *                                                  └─> records/ one record ─> a plan of it ────────────────┴─> store/ carries it out
 *     store/ ─> tenants/ resources/ roles/ providers/ users/ applications/ ─> its fields/ in one table, checks, reads, commands
 *     every change ─> ground/ locks, audit rows, feed ──> Postgres; feed/ ──> watchers; ground/ knows no kind of record
 */
export { allowedByConfig, applyAtStart, applyConfig } from './apply/apply-at-start.ts';
export { isLoopback } from './apply/demo-data.ts';
export { isGuardedDeletion } from './apply/guards/plan-differences.ts';
export { endings } from './endings/endings.ts';
export { migrations, openDirectory, requirePepper, type DirectoryRoom, type OfPeople } from './wiring.ts';
export { directoryConfig, directorySecret, pepperOf, type DirectoryConfig } from './config.ts';
export { DeclaredStateError, type Problem } from './declared/declared-state-error.ts';
export type { DeclaredApplication } from './applications/fields.ts';
export type { DeclaredTenant } from './declared/schema.ts';
export { longestSecret, mostDaysOfShortSecret, shortestSecret } from './secrets/declared-secrets.ts';
export { fitTogether, mostAttributeBytes, mostAttributes } from './users/claims/attributes.ts';
export { isSharedIdentifier } from './users/checks.ts';
export { declaredUserKeys } from './users/fields.ts';
export { normalizeIdentifier } from './users/identifiers.ts';
export { withheldPassword } from './users/claims/withheld-password.ts';
export { isSomebodyElse, isSomebodysName } from './users/preferred-names.ts';
export { listedKinds, recordKinds, type RecordKind } from './record-kinds.ts';
export { bumpEpoch } from './epoch.ts';
export type { RecordReads } from './service.ts';
