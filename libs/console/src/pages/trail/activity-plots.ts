import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import type { List } from '@tessera/pages';
import { plotOf, type Plot } from '@tessera/pages/plot';
import { timestampFromMs, timestampMs } from '@tessera/rpc';
import { shortList } from '../../cells.ts';
import { param, type Visit } from '../../console-visit.ts';

const stretches = {
  hour: { seconds: 3600, count: 24 },
  day: { seconds: 86_400, count: 7 },
} as const;

export type Stretch = keyof typeof stretches;

/** What was counted in the last day or week, as plots and as a table. */
export interface Activity {
  readonly plots: readonly Plot[];
  readonly table: List;
  /** The counts are whole from then on; absent if all are. */
  readonly since?: number | undefined;
}

/** The sign-ins of an organization, by one call. */
export async function signIns(visit: Visit, by: Stretch): Promise<Activity> {
  const asked = stretchesBy(visit, by);
  const answer = await visit.api(SessionsService).countSignIns(asked.request, visit.call());
  const rows = answer.counts.map(({ succeeded, failed, people }) => [succeeded, failed, people]);
  return {
    ...asked.activity('Sign-ins', ['Sign-ins', 'Failed sign-ins', 'People who signed in'], rows),
    since: answer.completeSince && timestampMs(answer.completeSince),
  };
}

/** The token requests of its applications, by one call. */
export async function tokens(visit: Visit, by: Stretch): Promise<Activity> {
  const asked = stretchesBy(visit, by);
  const { counts } = await visit.api(GrantsService).countTokens(asked.request, visit.call());
  const rows = counts.map(({ issued, refused }) => [Number(issued), Number(refused)]);
  return asked.activity('Tokens', ['Tokens issued', 'Token requests refused'], rows);
}

/** Whole hours or days of UTC, the last of which is not over, and how what was counted in them is shown. */
function stretchesBy(visit: Visit, by: Stretch) {
  const { seconds, count } = stretches[by];
  const lengthMs = seconds * 1000;
  const start = Math.floor(Date.now() / lengthMs) * lengthMs - (count - 1) * lengthMs;
  return {
    request: {
      tenantId: param(visit, 'tenant'),
      startTime: timestampFromMs(start),
      stretchSeconds: seconds,
      stretches: count,
    },
    activity(caption: string, columns: readonly string[], rows: readonly (readonly number[])[]): Activity {
      const times = rows.map((_row, at) => start + at * lengthMs);
      return {
        plots: columns.map((column, at) =>
          plotOf(
            column,
            rows.map((row, index) => ({ time: times[index] ?? start, value: row[at] ?? 0 })),
          ),
        ),
        table: shortList(
          caption,
          ['From', ...columns],
          rows.map((row, index) => [
            { time: times[index] ?? start, isExact: true },
            ...row.map((number) => ({ text: String(number) })),
          ]),
          'None.',
        ),
      };
    },
  };
}
