import { orNotFound, withService } from '../operate/records/with-service.ts';
import { printed, type Format } from '../records/print-records.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { newPasswordLink, shownLink, userCalled } from './password-link.ts';

export interface ResetOptions {
  readonly tenant: string;
  readonly username?: string;
  readonly userId?: string;
  readonly issuer?: string;
  readonly output: Format;
}

/** Prints a link with which a person sets a new password. Throws CommandError. */
export async function resetLink(options: ResetOptions, terminal: Terminal): Promise<void> {
  const { tenant: tenantId, username, output } = options;
  const called = options.userId ?? username;
  if (called === undefined) throw new CommandError('Name the person: --username or --user-id.', 2);
  const made = await withService('directory', terminal, {
    name: 'Making a link',
    timeoutMs: 10_000,
    async run(clientOf, call) {
      const unknown = orNotFound(`There is no user ${called} in the tenant ${tenantId}.`);
      const callees = { clientOf, call };
      const userId =
        options.userId ?? (await userCalled(callees, tenantId, called).catch(unknown))?.userId ?? '';
      const link = await newPasswordLink(callees, { tenantId, userId, purpose: 'reset' }).catch(unknown);
      return { userId, link };
    },
  });
  const link = { userId: made.userId, ...shownLink(made.link, options, terminal) };
  terminal.out(printed(link, output, Object.keys(link)));
  terminal.say('Give the link to this person alone; it is not shown again.\n');
}
