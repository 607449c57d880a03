import type { Command } from 'commander';
import {
  environmentHelp,
  formats,
  nonEmpty,
  ofPerson,
  outputOption,
  tenantOption,
  type PersonOptions,
} from '../options.ts';
import type { CommandContext } from '../terminal.ts';
import type { BootstrapOptions } from './bootstrap.ts';
import type { InviteOptions } from './invite.ts';
import type { LockdownOptions } from './lockdown.ts';
import type { RemoveCredentialOptions } from './remove-credential.ts';
import type { ResetFactorsOptions } from './reset-factors.ts';
import type { ResetOptions } from './reset-link.ts';
import type { ShowOptions } from './show-person.ts';

const issuerHelp = `where people sign in, if the server does not know it ${environmentHelp('TESSERA_ISSUER')}`;

/** Adds the commands that make the one-time links with which people set their passwords. */
export function addPeopleCommands(program: Command, context: CommandContext): void {
  addBootstrap(program, context);
  const group = program.commands.find((command) => command.name() === 'user') ?? program.command('user');
  addInvitation(group, context);
  ofPerson(
    group.command('reset-link'),
    async (options: ResetOptions) => {
      const { resetLink } = await import('./reset-link.ts');
      await resetLink(options, context);
    },
    true,
  )
    .description('print a one-time link with which a person sets a new password, valid for an hour')
    .option('--mail', 'mail the link to the person instead of printing it', false)
    .option('--issuer <url>', issuerHelp)
    .addOption(outputOption('yaml'));
  ofPerson(
    group.command('reset-factors'),
    async (options: ResetFactorsOptions) => {
      const { resetFactors } = await import('./reset-factors.ts');
      await resetFactors(options, context);
    },
    true,
  )
    .description(
      'remove the authenticator app, recovery codes and passkeys of a person who has lost the device',
    )
    .option('--validate-only', 'check everything, and change nothing', false)
    .option('--impact', 'with --validate-only: also show what the change would end', false);
  ofPerson(
    group.command('remove-credential'),
    async (options: RemoveCredentialOptions) => {
      const { removeCredential } = await import('./remove-credential.ts');
      await removeCredential(options, context);
    },
    true,
  )
    .description('remove one thing that a person signs in with, as of a lost device, and end all sign-ins')
    .option('--passkey <name>', 'the passkey of that name or ID: tessera user show', nonEmpty)
    .option('--provider <name>', 'the link with that provider', nonEmpty)
    .option('--app', 'the authenticator app', false)
    .option('--validate-only', 'show what it would end, and change nothing', false);
  ofPerson(
    group.command('lockdown'),
    async (options: LockdownOptions) => {
      const { lockdown } = await import('./lockdown.ts');
      await lockdown(options, context);
    },
    true,
  )
    .description(
      'shut everybody out of the account of a person, as after a theft: end all sign-ins, remove password and passkeys',
    )
    .addHelpText(
      'after',
      `
App, recovery codes and linked providers stay; access tokens live until they expire. Look at the e-mail address (user show), then: tessera user reset-link.`,
    )
    .option('--validate-only', 'show what it would end, and change nothing', false);
  ofPerson(
    group.command('show'),
    async (options: ShowOptions) => {
      const { showPerson } = await import('./show-person.ts');
      await showPerson(options, context);
    },
    true,
  )
    .description(
      'show who a person is, how they sign in, whether they are locked, and what was issued to them',
    )
    .addOption(outputOption('yaml', ['yaml', 'json']));
  ofPerson(
    group.command('unlock'),
    async (options: PersonOptions) => {
      const { unlock } = await import('./unlock.ts');
      await unlock(options, context);
    },
    true,
  ).description('let a person sign in again who was locked out by too many wrong passwords or codes');
}

function addBootstrap(program: Command, context: CommandContext): void {
  program
    .command('bootstrap')
    .description('print a one-time link with which the first administrator sets a password, valid for a day')
    .option('--username <text>', 'user name of the administrator', nonEmpty, 'admin')
    .option('--email <text>', 'e-mail address', '')
    .option('--name <text>', 'full name', '')
    .option('--issuer <url>', issuerHelp)
    .addHelpText(
      'after',
      `
It makes the person in the tenant of TESSERA_OPERATOR_TENANT, and that tenant unless it exists. As long as no administrator
has had anything to sign in with it may be repeated, which ends the link before.`,
    )
    .action(async (options: BootstrapOptions) => {
      const { bootstrap } = await import('./bootstrap.ts');
      await bootstrap(options, context);
    });
}

function addInvitation(group: Command, context: CommandContext): void {
  group
    .command('invite')
    .description('invite one person, or those of a CSV file: print or mail a one-time link to set a password')
    .argument('[address]', 'of one person: e-mail address, or a user name', nonEmpty)
    .addOption(tenantOption())
    .option('-f, --file <path>', 'several people: the CSV file; - reads standard input', nonEmpty)
    .option('--email <address>', 'of one person, whose user name is the argument', nonEmpty)
    .option('--name <name>', 'of one person', nonEmpty)
    .option('--role <name...>', 'roles of one person; after the address')
    .option('--issuer <url>', issuerHelp)
    .option('--mail', 'mail the link to the person instead of printing it', false)
    .option('--validate-only', 'check everything, and change nothing', false)
    .addOption(outputOption('table', [...formats, 'csv']))
    .addHelpText(
      'after',
      '\nThe first line of a file names the fields: username, and any of email, name, roles (with ; between them) and the other fields of a\n' +
        'person. Somebody who exists and has no password gets a new link. A link is valid once, for 7 days.',
    )
    .action(async (address: string | undefined, options: InviteOptions) => {
      const { invite } = await import('./invite.ts');
      await invite({ ...options, ...(address !== undefined && { address }) }, context);
    });
}
