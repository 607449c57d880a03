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
