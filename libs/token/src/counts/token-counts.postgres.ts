import type { GrantsService } from '@tessera/proto-gen/admin-grants';
import { invalidFields, stretchesOf, timestampFromMs, type Handlers } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { hourMs, type TokenCount } from './token-counts.ts';

/** In one order, so that two processes do not wait for each other. */
const addSql = `
  INSERT INTO token.token_count AS known (tenant_id, hour, issued, refused)
  SELECT tenant_id, to_timestamp(hour / 1000.0), issued, refused
  FROM unnest($1::text[], $2::float8[], $3::bigint[], $4::bigint[]) AS counted (tenant_id, hour, issued, refused)
  ORDER BY tenant_id, hour
  ON CONFLICT (tenant_id, hour) DO UPDATE
  SET issued = known.issued + excluded.issued, refused = known.refused + excluded.refused`;

const countSql = `
  SELECT width_bucket(extract(epoch FROM hour)::float8 * 1000, $2::float8[]) AS stretch,
    sum(issued)::float8 AS issued, sum(refused)::float8 AS refused
  FROM token.token_count
  WHERE tenant_id = $1 AND hour >= to_timestamp($3::float8 / 1000) AND hour < to_timestamp($4::float8 / 1000)
  GROUP BY 1`;

/** A week, and the day that it began in. */
const purgeSql = `
  DELETE FROM token.token_count
  WHERE (tenant_id, hour) IN (
    SELECT tenant_id, hour FROM token.token_count
    WHERE hour < statement_timestamp() - interval '8 days'
    LIMIT $1::int FOR UPDATE SKIP LOCKED)`;

interface Counted {
  /** Of 1 for the first. */
  readonly stretch: number;
  readonly issued: number;
  readonly refused: number;
}

/** How many tokens tenants were issued and refused, hour by hour, on Postgres. */
export function createTokenCountStore(database: Pick<Database, 'query'>) {
  return {
    async add(counts: readonly TokenCount[]): Promise<void> {
      const values = [
        counts.map(({ tenantId }) => tenantId),
        counts.map(({ hour }) => hour),
        counts.map(({ issued }) => issued),
        counts.map(({ refused }) => refused),
      ];
      await database.query({ name: 'counts.token.add', text: addSql, values });
    },

    async purge(limit: number): Promise<number> {
      return (await database.query({ name: 'counts.token.purge', text: purgeSql, values: [limit] })).rowCount;
    },

    async count(request) {
      const starts = stretchesOf(request);
      const [first = 0, last = 0] = [starts[0], starts.at(-1)];
      if (request.stretchSeconds % 3600 !== 0)
        throw invalidFields([{ field: 'stretchSeconds', description: 'must be whole hours, of 3600' }]);
      if (first % hourMs !== 0)
        throw invalidFields([{ field: 'startTime', description: 'must be the beginning of an hour' }]);
      const { rows } = await database.query<Counted>({
        name: 'token.count_tokens',
        text: countSql,
        values: [request.tenantId, starts.slice(0, -1), first, last],
      });
      const counted = new Map(rows.map((row) => [row.stretch, row]));
      return {
        counts: starts.slice(0, -1).map((start, at) => {
          const { issued = 0, refused = 0 } = counted.get(at + 1) ?? {};
          return { startTime: timestampFromMs(start), issued: BigInt(issued), refused: BigInt(refused) };
        }),
      };
    },
  } satisfies { count: Handlers<typeof GrantsService>['countTokens'] } & Record<string, unknown>;
}
