import { toJson, type JsonObject } from '@bufbuild/protobuf';
import { AuditEventSchema, AuditService } from '@tessera/proto-gen/admin-audit';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, readPages, type CallOptions } from '@tessera/rpc/caller';
import { chosenContext } from '../contexts/chosen-context.ts';
import { withAdministration, type ClientOf } from '../operate/records/with-service.ts';
import { timeOption, type Format } from '../options.ts';
import { printed } from '../print-records.ts';
import type { Terminal } from '../terminal.ts';

export interface SearchOptions {
  readonly tenant: string;
  readonly actor: string;
  readonly event: string;
  readonly about: string;
  readonly outcome: string;
  readonly since: string;
  readonly until?: string;
  readonly limit: number;
  readonly output: Format;
}

const timeoutMs = 60_000;
const columns = [
  'time',
  'tenantId',
  'event',
  'outcome',
  'reason',
  'actor',
  'subject',
  'clientId',
  'ipAddress',
];

/** Prints the events that match, the latest first. Throws CommandError. */
export async function searchAuditTrail(options: SearchOptions, terminal: Terminal): Promise<void> {
  const { tenant, actor, event, about, outcome, since, until, limit, output } = options;
  // Who administers one tenant may ask for no other.
  const tenantId = tenant || (await chosenContext(terminal))?.tenant || '';
  const endTime = until === undefined ? {} : { endTime: timeOption('--until', until, terminal) };
  const asked = {
    tenantId,
    actor,
    event,
    about,
    outcome,
    startTime: timeOption('--since', since, terminal),
    ...endTime,
  };
  const {
    found: events,
    isComplete,
    person,
  } = await withAdministration(terminal, {
    name: 'Searching the audit trail',
    changes: false,
    timeoutMs,
    async run(clientOf, call) {
      const search = async (concerned: string) =>
        readPages(async (page) => {
          const answer = await clientOf(AuditService).search({ ...asked, about: concerned, ...page }, call);
          return { found: answer.events, nextPageToken: answer.nextPageToken };
        }, limit);
      const searched = await search(about);
      if (searched.found.length > 0 || about === '' || tenantId === '')
        return { ...searched, person: undefined };
      // Nothing has this identifier, so it may be the name of a person.
      const userId = await userIdOf({ tenantId, identifier: about }, clientOf, call);
      return userId === undefined
        ? { ...searched, person: userId }
        : { ...(await search(userId)), person: userId };
    },
  });
  const records = events.map((each) => toJson(AuditEventSchema, each) as JsonObject);
  const shown =
    output === 'table'
      ? records.map(({ actor: who, ...rest }) => ({ ...rest, actor: nameOf(who) }))
      : records;
  terminal.out(await printed(shown, output, columns));
  if (person !== undefined) terminal.say(`${about} is ${person}.\n`);
  else if (events.length === 0 && about !== '') terminal.say(`No event is about ${about}. ${whatToGive}\n`);
  if (!isComplete) terminal.say(`There may be earlier ones: give a larger --limit, or --until.\n`);
}

const whatToGive =
  '--about takes an identifier, such as usr_..., a client ID or the reference of an error page; with --tenant also a user name.';

/** Undefined if there is no such person, and for those who may not see people. */
async function userIdOf(
  asked: { readonly tenantId: string; readonly identifier: string },
  clientOf: ClientOf,
  call: CallOptions,
): Promise<string | undefined> {
  try {
    return (await clientOf(DirectoryService).findUser(asked, call)).user?.userId;
  } catch (error) {
    if (error instanceof ConnectError && [Code.NotFound, Code.PermissionDenied].includes(error.code))
      return undefined;
    throw error;
  }
}

/** `user usr_1` */
const nameOf = (actor: unknown): string =>
  actor === undefined
    ? ''
    : Object.values(actor as Readonly<Record<string, string>>)
        .slice(0, 2)
        .join(' ');
