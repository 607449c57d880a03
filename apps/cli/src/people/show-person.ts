import { toJson } from '@bufbuild/protobuf';
import { ConsentSchema, ConsentsService } from '@tessera/proto-gen/admin-consents';
import { GrantSchema, GrantsService } from '@tessera/proto-gen/admin-grants';
import { SessionSchema, SessionsService } from '@tessera/proto-gen/admin-sessions';
import { UserCredentialsSchema, UserSchema, UsersService } from '@tessera/proto-gen/admin-users';
import { Code, ConnectError, readPages } from '@tessera/rpc/caller';
import { requiredPerson } from './person-options.ts';
import { orNotFound, withAdministration } from '../operate/records/with-service.ts';
import { printed } from '../print-records.ts';
import type { Terminal } from '../terminal.ts';
import type { Format, PersonOptions } from '../options.ts';

export interface ShowOptions extends PersonOptions {
  readonly output: Exclude<Format, 'table'>;
}

/** So many sessions, grants and consents are shown; `session list`, `grant list` and `consent list` have all. */
const most = 20;
const timeoutMs = 30_000;

/**
 * Prints who a person is, how they sign in, until when they are locked, what was issued to them and what they allowed.
 * What the login may not read is left out, and said. Throws CommandError.
 */
export async function showPerson({ output, ...options }: ShowOptions, terminal: Terminal): Promise<void> {
  const { tenant: tenantId } = options;
  const notes: string[] = [];
  const shown = await withAdministration(terminal, {
    name: 'Reading',
    changes: false,
    timeoutMs,
    async run(clientOf, call) {
      notes.length = 0;
      const userId = await requiredPerson(options, { clientOf, call });
      const whose = { tenantId, userId };
      const users = clientOf(UsersService);
      const [user, credentials] = await Promise.all([
        users.get(whose, call),
        users.getCredentials(whose, call),
      ]).catch(orNotFound(`There is no user ${userId} in the tenant ${tenantId}.`));
      const sessions = await listed('session', notes, async (page) => {
        const answer = await clientOf(SessionsService).list({ ...whose, ...page }, call);
        const found = answer.sessions.map((each) => toJson(SessionSchema, each));
        return { found, nextPageToken: answer.nextPageToken };
      });
      const grants = await listed('grant', notes, async (page) => {
        const answer = await clientOf(GrantsService).list({ ...whose, ...page }, call);
        const found = answer.grants.map((each) => toJson(GrantSchema, each));
        return { found, nextPageToken: answer.nextPageToken };
      });
      const consents = await listed('consent', notes, async (page) => {
        const answer = await clientOf(ConsentsService).list({ ...whose, ...page }, call);
        const found = answer.consents.map((each) => toJson(ConsentSchema, each));
        return { found, nextPageToken: answer.nextPageToken };
      });
      return {
        user: toJson(UserSchema, user),
        credentials: toJson(UserCredentialsSchema, credentials),
        ...(sessions && { sessions }),
        ...(grants && { grants }),
        ...(consents && { consents }),
      };
    },
  });
  terminal.out(await printed(shown, output, []));
  for (const note of notes) terminal.say(`${note}\n`);
}

/** Undefined, with a note, if the login may not read it. */
async function listed<T>(
  what: string,
  notes: string[],
  read: Parameters<typeof readPages<T>>[0],
): Promise<T[] | undefined> {
  try {
    const { found, isComplete } = await readPages(read, most);
    if (!isComplete) notes.push(`There are more than ${most} ${what}s: tessera ${what} list.`);
    return found;
  } catch (error) {
    if (!(error instanceof ConnectError) || error.code !== Code.PermissionDenied) throw error;
    notes.push(`Not shown: ${what}s. ${error.rawMessage}`);
    return undefined;
  }
}
