import type { GrantsService } from '@tessera/proto-gen/admin-grants';
import { invalidFields, timestampFromMs, type Handlers } from '@tessera/rpc';
import { stretchesOf } from '@tessera/rpc/stretches';
import type { Database } from '@tessera/stores';
import { hourMs } from './token-counts.ts';

const countSql = `
  SELECT width_bucket(extract(epoch FROM hour)::float8 * 1000, $2::float8[]) AS stretch,
    sum(issued)::float8 AS issued, sum(refused)::float8 AS refused
  FROM token.token_count
  WHERE tenant_id = $1 AND hour >= to_timestamp($3::float8 / 1000) AND hour < to_timestamp($4::float8 / 1000)
  GROUP BY 1`;

interface Counted {
  /** Of 1 for the first. */
  readonly stretch: number;
  readonly issued: number;
  readonly refused: number;
}

/** Reads how many tokens a tenant was issued and refused in stretches of whole hours. */
export function tokenCount(database: Pick<Database, 'query'>): Handlers<typeof GrantsService>['countTokens'] {
  return async ({ tenantId, ...asked }) => {
    const starts = stretchesOf(asked);
    const [first = 0, last = 0] = [starts[0], starts.at(-1)];
    if (asked.stretchSeconds % 3600 !== 0)
      throw invalidFields([{ field: 'stretchSeconds', description: 'must be whole hours, of 3600' }]);
    if (first % hourMs !== 0)
      throw invalidFields([{ field: 'startTime', description: 'must be the beginning of an hour' }]);
    const { rows } = await database.query<Counted>({
      name: 'token.count_tokens',
      text: countSql,
      values: [tenantId, starts.slice(0, -1), first, last],
    });
    const counted = new Map(rows.map((row) => [row.stretch, row]));
    return {
      counts: starts.slice(0, -1).map((start, at) => {
        const { issued = 0, refused = 0 } = counted.get(at + 1) ?? {};
        return { startTime: timestampFromMs(start), issued: BigInt(issued), refused: BigInt(refused) };
      }),
    };
  };
}
