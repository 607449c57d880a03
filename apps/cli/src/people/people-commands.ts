import type { Command } from 'commander';
import { environmentHelp, nonEmpty } from '../options.ts';
import { formats, outputOption } from '../records/print-records.ts';
import type { CommandContext } from '../terminal.ts';
import type { InviteOptions } from './invite.ts';
import type { ResetOptions } from './reset-link.ts';

const issuerHelp = `where people sign in, if the server does not know it ${environmentHelp('TESSERA_ISSUER')}`;

/** Adds the commands that make the one-time links with which people set their passwords. */
export function addPeopleCommands(program: Command, context: CommandContext): void {
  const group = program.commands.find((command) => command.name() === 'user') ?? program.command('user');
  group
    .command('invite')
    .description('add the people of a CSV file, and print a one-time link for each to set a password')
    .requiredOption('--tenant <id>', 'the tenant', nonEmpty)
    .requiredOption('-f, --file <path>', 'the CSV file; - reads standard input')
    .option('--issuer <url>', issuerHelp)
    .option('--validate-only', 'check everything, and change nothing', false)
    .addOption(outputOption('table', [...formats, 'csv']))
    .addHelpText(
      'after',
      '\nThe first line names the fields: username, and any of email, name, roles (with ; between them) and the other fields of a\n' +
        'person. Somebody who exists and has no password gets a new link. A link is valid once, for 7 days.',
    )
    .action(async (options: InviteOptions) => {
      const { invite } = await import('./invite.ts');
      await invite(options, context);
    });
  group
    .command('reset-link')
    .description('print a one-time link with which a person sets a new password, valid for an hour')
    .requiredOption('--tenant <id>', 'the tenant', nonEmpty)
    .option('--username <identifier>', 'user name, e-mail address or phone number', nonEmpty)
    .option('--user-id <id>', 'in place of --username', nonEmpty)
    .option('--issuer <url>', issuerHelp)
    .addOption(outputOption('yaml'))
    .action(async (options: ResetOptions) => {
      const { resetLink } = await import('./reset-link.ts');
      await resetLink(options, context);
    });
}
