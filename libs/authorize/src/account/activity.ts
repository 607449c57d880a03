import { personEvents, type PersonEvent } from '@tessera/audit';
import type { PersonService } from '@tessera/proto-gen/person';
import { timestampFromMs, timestampMs, type CallOptions, type Client } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import type { LiveSession } from '../store/session-store.ts';

/** How many events a person sees. */
const mostEvents = 20;

/** How many of them may be failed sign-ins, so that guesses push nothing else out. */
const mostFailed = 5;

const shown = {
  schema: 'authorize',
  events: ['auth.login.succeeded', 'consent.granted', 'consent.revoked'],
} as const;

const failed = {
  schema: 'authorize',
  statement: 'failed_sign_ins_of_person',
  events: ['auth.login.failed'],
} as const;

/**
 * What happened lately to an account: here and in the directory, the latest first. Browsers are known as long as their
 * sessions last.
 */
export async function recentActivity(
  {
    database,
    personService,
  }: { database: Pick<Database, 'query'>; personService: Client<typeof PersonService> },
  person: { readonly tenantId: string; readonly userId: string },
  sessions: readonly LiveSession[],
  call: CallOptions,
) {
  const [own, wrong, { events }] = await Promise.all([
    personEvents(database, shown, { ...person, limit: mostEvents }),
    personEvents(database, failed, { ...person, limit: mostFailed }),
    personService.listOwnEvents({ ...person, limit: mostEvents }, call),
  ]);
  const here = [...own, ...wrong].map(
    ({ time, event, clientId = '', ipAddress = '', sessionId }: PersonEvent) => ({
      time: timestampFromMs(Date.parse(time)),
      event,
      clientId,
      ipAddress,
      userAgent: sessions.find((session) => session.sessionId === sessionId)?.userAgent ?? '',
    }),
  );
  const there = events.flatMap(({ time, event, factor, ipAddress }) =>
    time === undefined ? [] : [{ time, event, factor, ipAddress }],
  );
  return [...here, ...there]
    .toSorted((one, other) => timestampMs(other.time) - timestampMs(one.time))
    .slice(0, mostEvents);
}
