/**
 * What a service holds of the directory: cached applications and users, and client authentication.
 * It owns no record, writes nothing, and never outlives a change by more than a second while it is connected.
 */
import type { DirectoryClient, DirectoryClientOptions } from './types.ts';

export type * from './types.ts';

/** Starts watching the directory at once; `close` ends that. */
export declare function createDirectoryClient(options: DirectoryClientOptions): DirectoryClient;
