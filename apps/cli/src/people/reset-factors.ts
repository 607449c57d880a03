import { UsersService } from '@tessera/proto-gen/admin-users';
import { orNotFound, withService } from '../operate/records/with-service.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { userCalled } from './password-link.ts';

export interface ResetFactorsOptions {
  readonly tenant: string;
  readonly username?: string;
  readonly userId?: string;
  readonly validateOnly: boolean;
}

/** Removes the second factors of a person. Throws CommandError. */
export async function resetFactors(options: ResetFactorsOptions, terminal: Terminal): Promise<void> {
  const { tenant: tenantId, username, validateOnly } = options;
  const called = options.userId ?? username;
  if (called === undefined) throw new CommandError('Name the person: --username or --user-id.', 2);
  const removed = await withService('directory', terminal, {
    name: 'Resetting second factors',
    timeoutMs: 10_000,
    async run(clientOf, call) {
      const unknown = orNotFound(`There is no user ${called} in the tenant ${tenantId}.`);
      const callees = { clientOf, call };
      const userId =
        options.userId ?? (await userCalled(callees, tenantId, called).catch(unknown))?.userId ?? '';
      const request = { tenantId, userId, validateOnly };
      return (await clientOf(UsersService).resetSecondFactors(request, call).catch(unknown)).removed;
    },
  });
  if (removed.length === 0) return terminal.say(`${called} has no second factor. Nothing has changed.\n`);
  if (validateOnly)
    return terminal.say(`This removes the authenticator app of ${called} and ends all sign-ins.\n`);
  terminal.say(`The authenticator app of ${called} is removed, and all sign-ins have ended.\n`);
}
