import type { Database } from '@tessera/stores';
import { ownParameters, decodePasswordHash } from '@tessera/directory/ground';

/** People whose stored password hash is not compared, because it was accepted under other bounds. They need a reset. */
export interface RefusedHashes {
  readonly count: number;
  /** Some of them, by tenant and ID. */
  readonly people: readonly { readonly tenantId: string; readonly userId: string }[];
}

const rowsAtOnce = 1_000;
const mostNamed = 10;

const { algorithm, memory, passes, parallelism } = ownParameters;
const ours = `$${algorithm}$v=19$m=${memory},t=${passes},p=${parallelism}$`;

/** Reads the hashes of all people who have another than ours, some at a time. Changes nothing. */
export async function findRefusedHashes(database: Database): Promise<RefusedHashes> {
  let count = 0;
  const people: { tenantId: string; userId: string }[] = [];
  let after = { tenant_id: '', user_id: '' };
  for (;;) {
    const { rows } = await database.query<{ tenant_id: string; user_id: string; password_hash: string }>({
      name: 'directory.hashes_of_others',
      text: `SELECT tenant_id, user_id, password_hash FROM directory.user_account
              WHERE (tenant_id, user_id) > ($1, $2) AND NOT starts_with(password_hash, $3)
              ORDER BY tenant_id, user_id LIMIT $4`,
      values: [after.tenant_id, after.user_id, ours, rowsAtOnce],
    });
    for (const { tenant_id: tenantId, user_id: userId, password_hash: hash } of rows) {
      if (decodePasswordHash(hash) !== undefined) continue;
      count += 1;
      if (people.length < mostNamed) people.push({ tenantId, userId });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) return { count, people };
    after = last;
  }
}
