import type { AuditEvent } from '@tessera/audit';
import type { Queryable } from '@tessera/stores';
import { appendChanges, type Change } from './append-changes.postgres.ts';
import { insertAuditRows, type AuditRuntime } from './audit-rows.postgres.ts';

/** What every change does besides what it changes. */
export interface Conclusion {
  /** What happened. */
  readonly events: readonly AuditEvent[];
  /** Tells people by mail, in the transaction. */
  readonly tell?: (() => Promise<void>) | undefined;
  /** What other services read again; empty for what they do not know. */
  readonly changes: readonly Change[];
}

/**
 * Ends a change in its transaction, which has locked what it changes: its audit rows, mail and, last, its place in the
 * feed, as all tenants wait for the end of a transaction that has one.
 */
export async function concludeChange(
  tx: Queryable,
  runtime: AuditRuntime,
  { events, tell, changes }: Conclusion,
): Promise<void> {
  await insertAuditRows(tx, events, runtime);
  await tell?.();
  if (changes.length > 0) await appendChanges(tx, changes);
}
