import type { Queryable } from '@tessera/stores';
import { lockFeed } from '../store/locks.postgres.ts';
import type { Change } from '../store/records.ts';

/**
 * Appends changes to the feed and deletes those older than a week: a consumer that was gone for longer starts over. Call it late in a
 * transaction, because from here all tenants wait for its end.
 */
export async function appendChanges(tx: Queryable, changes: readonly Change[]): Promise<void> {
  await lockFeed(tx);
  await tx.query({
    name: 'directory.append_changes',
    text: `INSERT INTO directory.change (kind, tenant_id, id, ended)
           SELECT c.kind, c."tenantId", c.id, coalesce(c."endsAll", false) OR
                  CASE c.kind WHEN 'tenant' THEN t.status WHEN 'application' THEN a.status ELSE u.status END
                    IS DISTINCT FROM 'active'
             FROM jsonb_to_recordset($1::jsonb) AS c(kind text, "tenantId" text, id text, "endsAll" boolean)
             LEFT JOIN directory.tenant AS t ON t.tenant_id = c."tenantId"
             LEFT JOIN directory.application AS a ON a.tenant_id = c."tenantId" AND a.client_id = c.id
             LEFT JOIN directory.user_account AS u ON u.tenant_id = c."tenantId" AND u.user_id = c.id`,
    values: [JSON.stringify(changes)],
  });
  await tx.query({
    name: 'directory.prune_changes',
    text: `DELETE FROM directory.change WHERE recorded_at < statement_timestamp() - interval '7 days'`,
  });
}
