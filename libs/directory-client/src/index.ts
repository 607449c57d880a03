/**
 * The services' client of the directory: cached applications and users, and client authentication. It writes nothing,
 * and a change takes effect within a second.
 *
 *     authorize, device, token ─> client ─┬─> directory-cache ─> record-cache ──> directory
 *                                         └─> client-authentication/ client-authenticator ─> secret-guess, verified-secrets, verified-assertions ──> directory
 *     change-watch <── WatchChanges of directory; drops what changed from the caches
 *     authorize, device, token ─> ended-count   what a change would end, as each of them counts it
 *     gateway ─> tenant-issuers   the complete list, followed in the same way
 */
export { isActive, isServedAt, mayUse } from './access.ts';
export type { RequestedIssuer } from './directory-client-types.ts';
export { ClientRefusal } from './client-authentication/client-authenticator.ts';
export { createDirectoryClient } from './client.ts';
export { applicationById, EndedCount, mostAtOnce, partsOf, usersById } from './ended-count.ts';
export { refusedClient } from './client-authentication/refused-client.ts';
export { watchTenantIssuers } from './tenant-issuers.ts';
export type { TenantIssuers, WatchedIssuers } from './tenant-issuers.ts';
export type * from './directory-client-types.ts';
