import { hash } from 'node:crypto';
import type { Queryable } from '@tessera/stores';

/** Uses up what a visit asked for with `challenge`: true for exactly one of any number of callers. */
export async function useChallenge(tx: Queryable, tenantId: string, challenge: string): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'directory.use_challenge',
    text: `INSERT INTO directory.used_challenge (tenant_id, digest) VALUES ($1, $2)
           ON CONFLICT (tenant_id, digest) DO NOTHING`,
    values: [tenantId, hash('sha256', challenge, 'buffer')],
  });
  return rowCount === 1;
}

/** Removes up to `limit` challenges that no visit can still ask for: none lasts for two days. Returns how many it removed. */
export async function purgeChallenges(database: Queryable, limit: number): Promise<number> {
  const { rowCount } = await database.query({
    name: 'directory.purge_used_challenges',
    text: `DELETE FROM directory.used_challenge WHERE (tenant_id, digest) IN (
             SELECT tenant_id, digest FROM directory.used_challenge
              WHERE used_at <= statement_timestamp() - interval '2 days' ORDER BY used_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    values: [limit],
  });
  return rowCount;
}
