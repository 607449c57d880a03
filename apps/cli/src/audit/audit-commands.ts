import { Option, type Command } from 'commander';
import { nonEmpty, outputOption, wholeNumber } from '../options.ts';
import type { CommandContext } from '../terminal.ts';
import type { WhyOptions } from './explain-refusal.ts';
import type { SearchOptions } from './search-audit-trail.ts';

/** Adds the search of the audit trail, and the explanation of a refusal. */
export function addAuditCommands(program: Command, context: CommandContext): void {
  program
    .command('audit')
    .description('see what happened, and who did it')
    .command('search')
    .description('list events, the latest first')
    .option('--tenant <id>', 'only this tenant instead of all; default: that of the login', '')
    .option('--actor <id>', 'who did it: a person, a client, an operator or a service', '')
    .option(
      '--event <name>',
      'an event, or the beginning of several that ends with a dot, such as client.',
      '',
    )
    .option(
      '--about <id>',
      'the person, client, session, grant, request or key concerned; with --tenant also a user name',
      '',
    )
    .addOption(
      new Option('--outcome <outcome>', 'how it ended').choices(['success', 'failure']).default('', 'both'),
    )
    .option(
      '--since <time>',
      'a time such as 2026-01-31T12:00:00Z, or an age such as 15m, 24h or 7d',
      nonEmpty,
      '24h',
    )
    .option('--until <time>', 'likewise', nonEmpty)
    .option('--limit <number>', 'at most so many', wholeNumber, 100)
    .addOption(outputOption('table'))
    .action(async (options: SearchOptions) => {
      const { searchAuditTrail } = await import('./search-audit-trail.ts');
      await searchAuditTrail(options, context);
    });
  program
    .command('why')
    .description('explain why a request was refused, by the reference on its error page')
    .argument('<reference>', 'the reference, or the X-Request-Id of a response', nonEmpty)
    .option('--tenant <id>', 'only this tenant instead of all; default: that of the login', '')
    .addOption(outputOption('yaml', ['yaml', 'json']))
    .action(async (reference: string, options: WhyOptions) => {
      const { explainRefusal } = await import('./explain-refusal.ts');
      await explainRefusal(reference, options, context);
    });
}
