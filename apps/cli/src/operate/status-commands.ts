import type { Command } from 'commander';
import { about, nonEmpty, takeOverOption, tenantOption } from '../options.ts';
import type { CommandContext } from '../terminal.ts';
import type { StatusChange } from './records/set-status.ts';

const declared =
  'A declared `status` decides again whenever the state is applied; if none is declared, it stays as it is.';
const issued =
  'It takes effect everywhere within a second. Access tokens issued so far live until they expire, ten minutes by default.';
const owned =
  'A record that a file declares is enabled there, or with --take-over; applying the file then needs --take-over, too.';
const stays = 'What it invalidated stays invalid: people sign in again.';

/** Options; each command takes those that it needs. */
interface StatusOptions {
  readonly tenant: string;
  readonly clientId: string;
  readonly username: string;
  readonly takeOver?: boolean;
}

/** Adds `disable` and `enable` for tenants, applications and users. */
export function addStatus(program: Command, context: CommandContext): void {
  const addVerbs = (
    noun: string,
    summaries: { readonly disable: string; readonly enable: string },
    effect: string,
    addAction: (command: Command, act: (options: StatusOptions) => Promise<void>) => Command,
    targetOf: (options: StatusOptions) => StatusChange['target'],
  ): void => {
    const group = program.command(noun).description(`disable and enable ${noun}s`);
    for (const verb of ['disable', 'enable'] as const) {
      const details = verb === 'disable' ? [effect, issued, declared] : [stays, owned, declared];
      const command = addAction(group.command(verb), async ({ takeOver = false, ...options }) => {
        const { setStatus } = await import('./records/set-status.ts');
        await setStatus({ verb, target: targetOf(options), takeOver }, context);
      });
      (verb === 'enable' ? command.option(...takeOverOption) : command)
        .description(summaries[verb])
        .addHelpText('after', `\n${details.join('\n')}`);
    }
  };
  addVerbs(
    'tenant',
    {
      disable: 'block all people and applications of a tenant',
      enable: 'unblock a tenant',
    },
    'It invalidates the sessions, codes, refresh tokens and decisions of all its people.',
    (command, act) =>
      about(command, { name: 'tenant', flags: '--tenant <id>', help: 'the tenant', isRequired: true }, act),
    ({ tenant }) => ({ kind: 'tenant', tenantId: tenant }),
  );
  addVerbs(
    'application',
    { disable: 'issue nothing more to an application', enable: 'unblock an application' },
    "It invalidates the application's codes, refresh tokens and decisions. Its users stay signed in elsewhere.",
    (command, act) =>
      about(
        command,
        { name: 'application', flags: '--client-id <id>', help: 'the application', isRequired: true },
        act,
      ).option('--tenant <id>', 'its tenant; only operators can leave it out', nonEmpty),
    ({ clientId, tenant }) => ({ kind: 'application', clientId, tenantId: tenant }),
  );
  addVerbs(
    'user',
    {
      disable: 'block a person',
      enable: 'unblock a person whom an administrator disabled or locked; after wrong passwords: user unlock',
    },
    "It invalidates the person's sessions, codes, refresh tokens and decisions.",
    (command, act) =>
      about(
        command.addOption(tenantOption()),
        {
          name: 'person',
          flags: '--username <identifier>',
          help: 'user name, e-mail address or phone number',
          isRequired: true,
        },
        act,
      ),
    ({ tenant, username }) => ({
      kind: 'user',
      tenantId: tenant,
      identifier: username,
    }),
  );
}
