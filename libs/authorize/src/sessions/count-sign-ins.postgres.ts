import { ulidTime } from '@tessera/kit';
import type { SessionsService } from '@tessera/proto-gen/admin-sessions';
import { timestampFromMs, type Handlers } from '@tessera/rpc';
import { stretchesOf } from '@tessera/rpc/stretches';
import type { Database } from '@tessera/stores';

/** Sign-ins that one call looks at, the latest ones. */
const usualMost = 50_000;

interface Counted {
  /** Of 1 for the first. */
  readonly stretch: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly people: number;
}

/** The names of the events are in the statement, so that the planner takes the index of these. */
const statement = {
  name: 'authorize.count_sign_ins',
  text: `SELECT width_bucket(event_id, $2::text[]) AS stretch,
           count(*) FILTER (WHERE event = 'auth.login.succeeded')::int AS succeeded,
           count(*) FILTER (WHERE event = 'auth.login.failed')::int AS failed,
           count(DISTINCT record ->> 'subject') FILTER (WHERE event = 'auth.login.succeeded')::int AS people
         FROM (
           SELECT event_id, event, record FROM authorize.audit_event
            WHERE tenant_id = $1 AND event IN ('auth.login.succeeded', 'auth.login.failed')
              AND event_id >= $3 AND event_id < $4
            ORDER BY event_id DESC LIMIT $5::int
         ) AS latest
         GROUP BY 1 ORDER BY 1`,
};

/** Counts the sign-ins of a tenant in stretches of time. */
export function signInCount(
  database: Pick<Database, 'query'>,
  most = usualMost,
): Handlers<typeof SessionsService>['countSignIns'] {
  return async ({ tenantId, ...asked }) => {
    const starts = stretchesOf(asked);
    const bounds = starts.map((start) => ulidTime(start));
    const { rows } = await database.query<Counted>({
      ...statement,
      values: [tenantId, bounds.slice(0, -1), bounds[0], bounds.at(-1), most],
    });
    const counted = new Map(rows.map((row) => [row.stretch, row]));
    const counts = starts.slice(0, -1).map((start, at) => {
      const { succeeded = 0, failed = 0, people = 0 } = counted.get(at + 1) ?? {};
      return { startTime: timestampFromMs(start), succeeded, failed, people };
    });
    const found = rows.reduce((sum, { succeeded, failed }) => sum + succeeded + failed, 0);
    // The earliest stretch that was found may have had more.
    const since = found < most ? undefined : starts[rows[0]?.stretch ?? 0];
    return { counts, ...(since !== undefined && { completeSince: timestampFromMs(since) }) };
  };
}
