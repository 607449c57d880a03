import { repeat, type Clock } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import type { Logger } from '@tessera/telemetry';

/** What a tenant was answered in an hour. */
export interface TokenCount {
  readonly tenantId: string;
  /** When the hour begins, in milliseconds. */
  readonly hour: number;
  readonly issued: number;
  readonly refused: number;
}

export interface TokenCounts {
  /** Never throws and never waits. */
  add(tenantId: string, outcome: 'issued' | 'refused'): void;
  /** Deletes up to `limit` counts that are too old to be shown; resolves with how many. */
  purge(limit: number): Promise<number>;
  /** Writes what is left. */
  close(): Promise<void>;
}

export interface TokenCountsDeps {
  readonly database: Pick<Database, 'query'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pauseMs?: number;
}

export const hourMs = 3_600_000;
const usualPauseMs = 5_000;
/** Hours of tenants that are kept while the database fails; beyond that nothing is counted. */
const mostWaiting = 100_000;

/** In one order, so that two processes do not wait for each other. */
const addSql = `
  INSERT INTO token.token_count AS known (tenant_id, hour, issued, refused)
  SELECT tenant_id, to_timestamp(hour / 1000.0), issued, refused
  FROM unnest($1::text[], $2::float8[], $3::bigint[], $4::bigint[]) AS counted (tenant_id, hour, issued, refused)
  ORDER BY tenant_id, hour
  ON CONFLICT (tenant_id, hour) DO UPDATE
  SET issued = known.issued + excluded.issued, refused = known.refused + excluded.refused`;

/** A week, and the day that it began in. */
const purgeSql = `
  DELETE FROM token.token_count
  WHERE (tenant_id, hour) IN (
    SELECT tenant_id, hour FROM token.token_count
    WHERE hour < statement_timestamp() - interval '8 days'
    LIMIT $1::int FOR UPDATE SKIP LOCKED)`;

/** Adds counts to those that are known. */
export async function addTokenCounts(
  database: Pick<Database, 'query'>,
  counts: readonly TokenCount[],
): Promise<void> {
  const values = [
    counts.map(({ tenantId }) => tenantId),
    counts.map(({ hour }) => hour),
    counts.map(({ issued }) => issued),
    counts.map(({ refused }) => refused),
  ];
  await database.query({ name: 'counts.token.add', text: addSql, values });
}

/**
 * Counts token requests in memory and writes them now and again, so that no token waits for it. A process that is
 * killed loses what it counted in the last seconds.
 */
export function countTokenRequests({
  database,
  clock,
  log,
  pauseMs = usualPauseMs,
}: TokenCountsDeps): TokenCounts {
  let waiting = new Map<string, { tenantId: string; hour: number; issued: number; refused: number }>();

  function note(tenantId: string, hour: number, issued: number, refused: number): void {
    const key = `${hour} ${tenantId}`;
    const known = waiting.get(key);
    if (known !== undefined) {
      known.issued += issued;
      known.refused += refused;
    } else if (waiting.size < mostWaiting) waiting.set(key, { tenantId, hour, issued, refused });
  }

  async function flush(): Promise<void> {
    if (waiting.size === 0) return;
    const counted = [...waiting.values()];
    waiting = new Map();
    try {
      await addTokenCounts(database, counted);
    } catch (error) {
      for (const { tenantId, hour, issued, refused } of counted) note(tenantId, hour, issued, refused);
      throw error;
    }
  }

  const writing = repeat(flush, {
    pauseMs,
    startsWithPause: true,
    onError(error, failures) {
      if (failures === 1) log.warn({ err: error }, 'cannot write how many tokens were issued');
    },
  });
  return {
    add(tenantId, outcome) {
      const hour = Math.floor(clock.now() / hourMs) * hourMs;
      note(tenantId, hour, outcome === 'issued' ? 1 : 0, outcome === 'refused' ? 1 : 0);
    },
    async purge(limit) {
      return (await database.query({ name: 'counts.token.purge', text: purgeSql, values: [limit] })).rowCount;
    },
    async close() {
      await writing.close();
      await flush().catch((error: unknown) => {
        log.warn({ err: error }, 'the last token requests were not counted');
      });
    },
  };
}
