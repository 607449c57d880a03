/**
 * The administration API. It authenticates administrators by access tokens, decides what these reach and what may be
 * given by whom, and calls the service that owns the record. It holds no data and no rule of the records; without it,
 * tokens are issued as before.
 *
 *     curl, browsers, tessera ══> serve-administration ─┬─> access/ bearer-administrators ──> token, directory
 *                                                       └─> forward ─> access/ who-may-give ──> directory, on behalf of the administrator
 *     rules/            what the protos say of the fields of requests, checked before anybody is called
 *     complete-impact   what a change would end, in answers of the directory ──> token
 *     who-may-give ─> what-is-given   the table; declared-plans ──> directory   what a document would do, judged by the same table
 *     forward ─> noted-ends ──> authorize, token     sessions that end
 *     forward ─> withdrawn-access ──> authorize, token   consents that are withdrawn, and the grants that relied on them
 *     forward ─> merge-audit ──> keys, directory, authorize, device, token   one search of what each has recorded
 *     local-administration   how the command finds the process with embedded stores
 */
import type { BuiltService } from '@tessera/rpc';
import type { serveAdministration as Serve } from './serve-administration.ts';
import type { AdminPeers, buildAdmin as Build } from './wiring.ts';

export { adminConfig, type AdminConfig } from './config.ts';
export { announceAdministration } from './local-administration.ts';
export * from './offered-to-command.ts';
export type { AdminPeers };

// The rest is loaded with its first use: most processes of compact serve no administration.

/** As `wiring.ts` describes. */
export async function buildAdmin(...given: Parameters<typeof Build>): Promise<BuiltService> {
  return (await import('./wiring.ts')).buildAdmin(...given);
}

/** As `serve-administration.ts` describes. */
export async function serveAdministration(...given: Parameters<typeof Serve>): ReturnType<typeof Serve> {
  return (await import('./serve-administration.ts')).serveAdministration(...given);
}
