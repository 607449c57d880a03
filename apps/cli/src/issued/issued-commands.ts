import type { Command } from 'commander';
import { nonEmpty } from '../options.ts';
import { outputOption } from '../records/print-records.ts';
import type { CommandContext } from '../terminal.ts';
import type { ApprovalId, PersonOptions } from './waiting-approvals.ts';

/** Adds the commands for what people have, and what waits for them, without being records. */
export function addIssuedCommands(program: Command, context: CommandContext): void {
  const approvals = program.command('approval').description('what waits for the approval of a person (CIBA)');
  ofPerson(approvals.command('list'))
    .description('list the requests that wait for a person')
    .addOption(outputOption('table'))
    .action(async (options: PersonOptions) => {
      const { listApprovals } = await import('./waiting-approvals.ts');
      await listApprovals(options, context);
    });
  approvals
    .command('cancel')
    .description('deny a request in place of the person')
    .requiredOption('--tenant <id>', 'the tenant', nonEmpty)
    .requiredOption('--approval-id <id>', 'as tessera approval list names it', nonEmpty)
    .action(async (options: ApprovalId) => {
      const { cancelApproval } = await import('./waiting-approvals.ts');
      await cancelApproval(options, context);
    });
}

function ofPerson(command: Command): Command {
  return command
    .requiredOption('--tenant <id>', 'the tenant', nonEmpty)
    .option('--username <identifier>', 'user name, e-mail address or phone number', nonEmpty)
    .option('--user-id <id>', 'in place of --username', nonEmpty);
}
