import { fromJson } from '@bufbuild/protobuf';
import { uuid } from '@tessera/kit';
import { UserSchema, UsersService } from '@tessera/proto-gen/admin-users';
import type { CreatePasswordLinkResponse } from '@tessera/proto-gen/admin-users';
import { Code, ConnectError } from '@tessera/rpc/caller';
import { issuerOf } from '../at-hand/issuer-at-hand.ts';
import { withService } from '../operate/records/with-service.ts';
import { contentOf } from '../records/record-options.ts';
import type { Format } from '../options.ts';
import { printed } from '../print-records.ts';
import { CommandError, type CommandContext, type Terminal } from '../terminal.ts';
import { newPasswordLink, shownLink, userCalled, type Callees } from './password-link.ts';
import { comparedName, peopleIn, personNamed, type ListedPerson, type NamedPerson } from './guest-list.ts';

export interface InviteOptions extends Partial<NamedPerson> {
  readonly tenant: string;
  readonly file?: string;
  readonly issuer?: string;
  readonly validateOnly: boolean;
  readonly mail?: boolean;
  readonly output: Format | 'csv';
}

interface Guest extends ListedPerson {
  /** A create whose answer was lost is repeated, and happens once. */
  readonly requestId: string;
}

/** What came of one line: a link, or why there is none. */
type Invitation =
  | { readonly guest: Guest; readonly userId: string; readonly made: CreatePasswordLinkResponse }
  | { readonly guest: Guest; readonly problem: string };

const timeoutMs = 10_000;
const columns = ['username', 'email', 'link', 'expireTime'];

/**
 * Creates one person, or the people of a file, and prints a link for each. All are checked before anybody is created.
 * Somebody who exists and has no password gets a new link, so that the command can be repeated. Throws CommandError.
 */
export async function invite(options: InviteOptions, terminal: CommandContext): Promise<void> {
  const { tenant, output, validateOnly, mail = false } = options;
  const people = await peopleOf(options, terminal);
  const guests = people.map((person) => ({ ...person, requestId: uuid() }));
  const invitations = await withService('directory', terminal, {
    name: 'Inviting',
    changes: !validateOnly,
    saysWhere: true,
    timeoutMs,
    async run(clientOf, call) {
      const callees = { clientOf, call };
      const checked = await inTurn(guests, (guest) =>
        invited(callees, tenant, guest, { validateOnly: true, mail }),
      );
      const problems = problemsOf(checked);
      if (problems.length > 0) throw new CommandError([...problems, 'Nothing was changed.'].join('\n'));
      return validateOnly
        ? []
        : inTurn(guests, (guest) => invited(callees, tenant, guest, { validateOnly, mail }));
    },
  });
  const issuer = await issuerOf(options, terminal);
  const links = invitations.flatMap((invitation) => {
    if ('problem' in invitation) return [];
    const { guest, userId, made } = invitation;
    const { username, email } = guest;
    return [{ username, email, userId, ...(!mail && shownLink(made, issuer)) }];
  });
  const { length: count } = guests;
  if (validateOnly)
    return terminal.say(
      `${count} ${count === 1 ? 'person' : 'people'} can be invited. Nothing was changed.\n`,
    );
  const shown = mail ? columns.slice(0, 2) : columns;
  terminal.out(output === 'csv' ? csv(links, shown) : await printed(links, output, shown));
  const problems = problemsOf(invitations);
  for (const problem of problems) terminal.say(`${problem}\n`);
  if (problems.length > 0) terminal.exitWith(1);
  if (links.length === 0) return;
  terminal.say(
    mail
      ? `${problems.length === 0 ? 'The' : 'The other'} links are on their way.\n`
      : 'Give each link to its person alone; the links are not shown again.\n',
  );
}

/** Who is to be invited. Throws CommandError, also unless there is either one person or a file. */
async function peopleOf(options: InviteOptions, terminal: Terminal): Promise<readonly ListedPerson[]> {
  const { address, file } = options;
  if (address !== undefined && file === undefined) return [personNamed({ ...options, address })];
  if (address !== undefined || file === undefined)
    throw new CommandError('Name whom to invite: one person as the argument, or several by --file.', 2);
  const ofOne = (['email', 'name', 'role'] as const).filter((name) => options[name] !== undefined);
  if (ofOne.length > 0)
    throw new CommandError(`The file says this of each person: --${ofOne.join(', --')}.`, 2);
  return peopleIn(await contentOf(file, terminal), file);
}

async function inTurn<T>(guests: readonly Guest[], work: (guest: Guest) => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  for (const guest of guests) done.push(await work(guest));
  return done;
}

/** What came of one person; what is wrong with this person alone does not stop the others. */
async function invited(
  callees: Callees,
  tenantId: string,
  guest: Guest,
  { validateOnly, mail }: { readonly validateOnly: boolean; readonly mail: boolean },
): Promise<Invitation> {
  try {
    const userId =
      (await existing(callees, tenantId, guest)) ??
      (await created(callees, tenantId, guest, { validateOnly, mailable: mail }));
    // Of a person who is only checked there is nobody yet to whom a link could lead.
    const made =
      userId === ''
        ? { uri: '' }
        : await newPasswordLink(callees, { tenantId, userId, purpose: 'invitation', validateOnly, mail });
    return { guest, userId, made: made as CreatePasswordLinkResponse };
  } catch (error) {
    if (error instanceof ConnectError && isAboutOne.has(error.code))
      return { guest, problem: error.rawMessage };
    throw error;
  }
}

const isAboutOne: ReadonlySet<Code> = new Set([
  Code.AlreadyExists,
  Code.FailedPrecondition,
  Code.InvalidArgument,
]);

/** The id of the person with this user name; undefined if there is none. */
async function existing(
  callees: Callees,
  tenantId: string,
  { username }: Guest,
): Promise<string | undefined> {
  try {
    const user = await userCalled(callees, tenantId, username);
    // It may be the e-mail address of another one.
    return user !== undefined && comparedName(user.username) === comparedName(username)
      ? user.userId
      : undefined;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
    throw error;
  }
}

/** The id of the person; empty if the person is only checked. */
async function created(
  { clientOf, call }: Callees,
  tenantId: string,
  { user: entry, requestId }: Guest,
  how: { readonly validateOnly: boolean; readonly mailable: boolean },
): Promise<string> {
  const user = fromJson(UserSchema, entry);
  const { userId } = await clientOf(UsersService).create({ tenantId, user, requestId, ...how }, call);
  return how.validateOnly ? '' : userId;
}

function problemsOf(invitations: readonly Invitation[]): string[] {
  return invitations.flatMap((invitation) =>
    'problem' in invitation
      ? invitation.problem.split('\n').map((line) => `${invitation.guest.place}: ${line}`)
      : [],
  );
}

/** RFC 4180. */
function csv(
  links: readonly Readonly<Record<string, string | undefined>>[],
  shown: readonly string[],
): string {
  const quoted = (value = '') => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return [shown, ...links.map((link) => shown.map((name) => link[name]))]
    .map((cells) => `${cells.map(quoted).join(',')}\r\n`)
    .join('');
}
