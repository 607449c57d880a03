import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { moment, nonEmpty, takeOverOption, tenantOption, writerOption } from '../options.ts';
import type { CommandContext } from '../terminal.ts';

/** Commands for the secrets of applications. */
export function addSecrets(secret: Command, context: CommandContext): void {
  secret
    .command('new')
    .description('print a new client secret, 32 random bytes as base64url')
    .action(() => context.out(`${randomBytes(32).toString('base64url')}\n`));
  secret
    .command('list')
    .description('show when each secret of an application was declared, expires and was last used')
    .option('--tenant <id>', 'its tenant; only operators can leave it out', nonEmpty)
    .requiredOption('--client-id <id>', 'the application', nonEmpty)
    .action(async (options: { tenant?: string; clientId: string }) => {
      const { listSecrets } = await import('./records/list-secrets.ts');
      await listSecrets(options, context);
    });
  const ofApplication = (command: Command) =>
    command
      .addOption(tenantOption())
      .requiredOption('--client-id <id>', 'the application', nonEmpty)
      .option(...takeOverOption)
      .option(...writerOption);
  ofApplication(secret.command('create'))
    .description('add a secret to a confidential application, and print it this once')
    .option('--expires <time>', 'in ISO 8601, such as 2027-01-31T12:00:00Z; default: never', moment)
    .addHelpText(
      'after',
      '\nAn application has at most two: move its clients to the new one, then delete the other.',
    )
    .action(
      async (options: {
        tenant: string;
        clientId: string;
        takeOver: boolean;
        owner?: string;
        expires?: Date;
      }) => {
        const { createSecret } = await import('./records/change-secrets.ts');
        await createSecret(options, context);
      },
    );
  ofApplication(secret.command('delete'))
    .description('end a secret of an application')
    // Some begin with a dash.
    .requiredOption('--secret-id <id>', 'as tessera secret list names it: --secret-id=<id>', nonEmpty)
    .action(
      async (options: {
        tenant: string;
        clientId: string;
        takeOver: boolean;
        owner?: string;
        secretId: string;
      }) => {
        const { deleteSecret } = await import('./records/change-secrets.ts');
        await deleteSecret(options, context);
      },
    );
}
