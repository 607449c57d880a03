import { orNotFound } from '../operate/records/with-service.ts';
import { userCalled, type Callees } from './password-link.ts';
import type { PersonOptions } from '../options.ts';
import { CommandError } from '../terminal.ts';

/** The identifier of the person whom options name; empty if they name none. Throws CommandError. */
export async function personOf(
  { tenant, username, userId = '' }: PersonOptions,
  callees: Callees,
): Promise<string> {
  if (username === undefined || userId !== '') return userId;
  const unknown = `There is no user ${username} in the tenant ${tenant}.`;
  const user = await userCalled(callees, tenant, username).catch(orNotFound(unknown));
  return user?.userId ?? '';
}

/** As `personOf`, of a command that needs a person. */
export async function requiredPerson(options: PersonOptions, callees: Callees): Promise<string> {
  const userId = await personOf(options, callees);
  if (userId === '')
    throw new CommandError('Name the person: as the argument or by --username or --user-id.', 2);
  return userId;
}
