import { Option, type Command } from 'commander';
import { about, nonEmpty, ofPerson, outputOption, tenantOption, wholeNumber } from '../options.ts';
import type { CommandContext } from '../terminal.ts';
import type {
  ListOptions as ConsentListOptions,
  RevokeOptions as RevokeConsentOptions,
} from './given-consents.ts';
import type { ListOptions as GrantListOptions, RevokeOptions } from './live-grants.ts';
import type {
  ListOptions as SessionListOptions,
  RevokeOptions as RevokeSessionOptions,
} from './live-sessions.ts';
import type { ApprovalId, ListOptions } from './waiting-approvals.ts';
import type { ListOptions as MailListOptions, MailId } from './waiting-mail.ts';

/** Adds the commands for what people have, and what waits for them, without being records. */
export function addIssuedCommands(program: Command, context: CommandContext): void {
  addSessions(program.command('session').description('where people are signed in'), context);
  addGrants(
    program.command('grant').description('what applications may do for people: refresh tokens'),
    context,
  );
  addConsents(program.command('consent').description('what people have allowed applications'), context);
  addMail(program.command('mail').description('mail that waits to be sent'), context);
  const approvals = program.command('approval').description('what waits for the approval of a person (CIBA)');
  ofPerson(approvals.command('list'), async (options: ListOptions) => {
    const { listApprovals } = await import('./waiting-approvals.ts');
    await listApprovals(options, context);
  })
    .description('list the requests that wait for a person')
    .addOption(outputOption('table'));
  approvals
    .command('deny')
    .description('deny a request in place of the person')
    .addOption(tenantOption())
    .requiredOption('--approval-id <id>', 'as tessera approval list names it', nonEmpty)
    .action(async (options: ApprovalId) => {
      const { denyApproval } = await import('./waiting-approvals.ts');
      await denyApproval(options, context);
    });
}

function addSessions(group: Command, context: CommandContext): void {
  ofPerson(group.command('list'), async (options: SessionListOptions) => {
    const { listSessions } = await import('./live-sessions.ts');
    await listSessions(options, context);
  })
    .description('list the live sessions of a tenant or of a person')
    .option('--limit <number>', 'at most so many', wholeNumber, 100)
    .addOption(outputOption('table'));
  ofPerson(group.command('revoke'), async (options: RevokeSessionOptions) => {
    const { revokeSessions } = await import('./live-sessions.ts');
    await revokeSessions(options, context);
  })
    .description('sign a person out of one browser, or of all')
    .option(
      '--session-id <id>',
      'only this one, as tessera session list names it: --session-id=<id>',
      nonEmpty,
    )
    .addHelpText(
      'after',
      `
Without --session-id it ends all sessions of the person. Refresh tokens stay: tessera grant revoke. A lost device: also tessera user remove-credential.`,
    );
}

function addGrants(group: Command, context: CommandContext): void {
  const whose = (name: string, act: (options: never) => Promise<void>) =>
    ofPerson(group.command(name), act).option('--client-id <id>', 'of this application', nonEmpty, '');
  whose('list', async (options: GrantListOptions) => {
    const { listGrants } = await import('./live-grants.ts');
    await listGrants(options, context);
  })
    .description('list the live grants of a person or of an application')
    .option('--limit <number>', 'at most so many', wholeNumber, 100)
    .addOption(outputOption('table'));
  whose('revoke', async (options: RevokeOptions) => {
    const { revokeGrants } = await import('./live-grants.ts');
    await revokeGrants(options, context);
  })
    .description('revoke one grant, or all of a person or of an application')
    .option('--grant-id <id>', 'only this grant', nonEmpty, '')
    .option('--reason <text>', 'for the audit trail', '');
}

function addConsents(group: Command, context: CommandContext): void {
  ofPerson(group.command('list'), async (options: ConsentListOptions) => {
    const { listConsents } = await import('./given-consents.ts');
    await listConsents(options, context);
  })
    .description('list the consents of a tenant, of a person or for an application')
    .option('--client-id <id>', 'for this application', nonEmpty, '')
    .option('--limit <number>', 'at most so many', wholeNumber, 100)
    .addOption(outputOption('table'));
  ofPerson(group.command('revoke'), async (options: RevokeConsentOptions) => {
    const { revokeConsent } = await import('./given-consents.ts');
    await revokeConsent(options, context);
  })
    .description('revoke what a person allowed an application, with its grants')
    .requiredOption('--client-id <id>', 'the application', nonEmpty);
}

function addMail(group: Command, context: CommandContext): void {
  ofPerson(group.command('list'), async (options: MailListOptions) => {
    const { listMail } = await import('./waiting-mail.ts');
    await listMail(options, context);
  })
    .description('list the mail of a tenant or to a person that waits')
    .addOption(
      new Option('--state <state>', 'waiting, or failed and tried again')
        .choices(['waiting', 'failed'])
        .default('', 'both'),
    )
    .option('--limit <number>', 'at most so many', wholeNumber, 100)
    .addOption(outputOption('table'));
  const help = 'as tessera mail list names it';
  about(
    group.command('delete').addOption(tenantOption()),
    { name: 'mail', flags: '--mail-id <id>', help, isRequired: true },
    async (options: MailId) => {
      const { deleteMail } = await import('./waiting-mail.ts');
      await deleteMail(options, context);
    },
  ).description('delete a mail that waits, so that it is not sent');
}
