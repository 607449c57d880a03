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

/** The sign-ins of the last day or week, as plots and as a table. */
export interface SignIns {
  readonly plots: readonly Plot[];
  readonly table: List;
  /** The counts are whole from then on; absent if all are. */
  readonly since: number | undefined;
}

/** Reads them by one call. */
export async function signIns(visit: Visit, by: keyof typeof stretches): Promise<SignIns> {
  const { seconds, count } = stretches[by];
  const lengthMs = seconds * 1000;
  // Whole hours and days of UTC; the last one is not over.
  const start = Math.floor(Date.now() / lengthMs) * lengthMs - (count - 1) * lengthMs;
  const request = {
    tenantId: param(visit, 'tenant'),
    startTime: timestampFromMs(start),
    stretchSeconds: seconds,
    stretches: count,
  };
  const answer = await visit.api(SessionsService).countSignIns(request, visit.call());
  const counts = answer.counts.map(({ startTime, succeeded, failed, people }, at) => {
    const time = startTime === undefined ? start + at * lengthMs : timestampMs(startTime);
    return { time, succeeded, failed, people };
  });
  const plot = (caption: string, value: (each: (typeof counts)[number]) => number) =>
    plotOf(
      caption,
      counts.map((each) => ({ time: each.time, value: value(each) })),
    );
  return {
    plots: [
      plot('Sign-ins', ({ succeeded }) => succeeded),
      plot('Failed sign-ins', ({ failed }) => failed),
      plot('People who signed in', ({ people }) => people),
    ],
    table: shortList(
      'Sign-ins',
      ['From', 'Sign-ins', 'Failed sign-ins', 'People who signed in'],
      counts.map(({ time, succeeded, failed, people }) => [
        { time },
        ...[succeeded, failed, people].map((number) => ({ text: String(number) })),
      ]),
      'None.',
    ),
    since: answer.completeSince && timestampMs(answer.completeSince),
  };
}
