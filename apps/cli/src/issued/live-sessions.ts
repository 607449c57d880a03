import { toJson, type JsonObject } from '@bufbuild/protobuf';
import { browserName } from '@tessera/languages';
import { SessionSchema, SessionsService, type Session } from '@tessera/proto-gen/admin-sessions';
import { readPages, timestampMs } from '@tessera/rpc/caller';
import { orNotFound, withAdministration } from '../operate/records/with-service.ts';
import type { Format, PersonOptions } from '../options.ts';
import { printed } from '../print-records.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { personOf, requiredPerson } from '../people/person-options.ts';

export interface ListOptions extends PersonOptions {
  readonly limit: number;
  readonly output: Format;
}

export interface RevokeOptions extends PersonOptions {
  readonly sessionId?: string;
}

const timeoutMs = 30_000;
const columns = ['sessionId', 'username', 'browser', 'ipAddress', 'methods', 'createTime', 'lastUseTime'];

/** Those of each person together, the last used first. Throws CommandError. */
export async function listSessions(options: ListOptions, terminal: Terminal): Promise<void> {
  const { tenant: tenantId, limit, output } = options;
  const sessions = await withAdministration(terminal, {
    name: 'Reading',
    changes: false,
    timeoutMs,
    async run(clientOf, call) {
      const userId = await personOf(options, { clientOf, call });
      const { found } = await readPages(async (page) => {
        const answer = await clientOf(SessionsService).list({ tenantId, userId, ...page }, call);
        return { found: answer.sessions, nextPageToken: answer.nextPageToken };
      }, limit);
      return found;
    },
  });
  const records = sessions.toSorted(byPerson).map((each) => ({
    ...(toJson(SessionSchema, each) as JsonObject),
    ...(output === 'table' && { browser: browserOf(each) }),
  }));
  terminal.out(await printed(records, output, columns));
}

function byPerson(one: Session, other: Session): number {
  const byName = one.username.localeCompare(other.username);
  return byName === 0 ? lastUseOf(other) - lastUseOf(one) : byName;
}

function lastUseOf({ lastUseTime }: Session): number {
  return lastUseTime === undefined ? 0 : timestampMs(lastUseTime);
}

function browserOf({ userAgent }: Session): string {
  const { browser = '', system = '' } = browserName(userAgent) ?? {};
  return system === '' ? browser : `${browser} on ${system}`;
}

/** Revokes the session that is named, else all of the person. Throws CommandError. */
export async function revokeSessions(options: RevokeOptions, terminal: Terminal): Promise<void> {
  const { tenant: tenantId, sessionId, username, userId: person } = options;
  if (sessionId !== undefined && (username ?? person) !== undefined)
    throw new CommandError('Name a person, whose sessions all end, or one session by --session-id.', 2);
  const { sessions } = await withAdministration(terminal, {
    name: 'Revoking the sessions',
    changes: true,
    timeoutMs,
    async run(clientOf, call) {
      const whose =
        sessionId === undefined
          ? ({ case: 'userId', value: await requiredPerson(options, { clientOf, call }) } as const)
          : ({ case: 'sessionId', value: sessionId } as const);
      return clientOf(SessionsService)
        .endSessions({ tenantId, whose }, call)
        .catch(orNotFound(`There is no session ${sessionId} in the tenant ${tenantId}.`));
    },
  });
  terminal.say(`Revoked sessions: ${sessions.length}. Refresh tokens stay: tessera grant revoke.\n`);
}
