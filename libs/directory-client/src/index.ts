/**
 * What a service holds of the directory: cached applications and users, and client authentication.
 * It owns no record, writes nothing, and never outlives a change by more than a second while it is connected.
 */
export { isActive } from './access.ts';
export { createDirectoryClient } from './client.ts';
export { mayUse } from './may-use.ts';
export type * from './types.ts';
