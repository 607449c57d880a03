import type { Queryable } from '@tessera/stores';
import { lockFeed } from './locks.postgres.ts';

/** A row of the change feed. */
export interface Change {
  readonly kind: 'tenant' | 'application' | 'user';
  readonly tenantId: string;
  /** client_id or user_id; empty for a tenant. */
  readonly id: string;
  /** Everything issued before is invalid, even if the record is active. */
  readonly endsAll?: true;
}

/**
 * Appends changes to the feed and deletes those older than a week: a consumer that was gone for longer starts over.
 * Call it late in a transaction, because from here all tenants wait for its end.
 */
export async function appendChanges(tx: Queryable, changes: readonly Change[]): Promise<void> {
  await lockFeed(tx);
  // Looked up one by one: joins would read whole tables, as the planner takes a list in JSON for a hundred rows.
  await tx.query({
    name: 'directory.append_changes',
    text: `INSERT INTO directory.change (kind, tenant_id, id, ended)
           SELECT c.kind, c."tenantId", c.id, coalesce(c."endsAll", false) OR
                  CASE c.kind
                    WHEN 'tenant' THEN (SELECT status FROM directory.tenant WHERE tenant_id = c."tenantId")
                    WHEN 'application' THEN (SELECT status FROM directory.application
                                              WHERE tenant_id = c."tenantId" AND client_id = c.id)
                    ELSE (SELECT status FROM directory.user_account WHERE tenant_id = c."tenantId" AND user_id = c.id)
                  END IS DISTINCT FROM 'active'
             FROM jsonb_to_recordset($1::jsonb) AS c(kind text, "tenantId" text, id text, "endsAll" boolean)`,
    values: [JSON.stringify(changes)],
  });
  await tx.query({
    name: 'directory.prune_changes',
    text: `DELETE FROM directory.change WHERE recorded_at < statement_timestamp() - interval '7 days'`,
  });
}
