import type { Command } from 'commander';
import { environmentHelp, nonEmpty, orEnvironment, tenantOption } from './options.ts';
import type { CommandContext } from './terminal.ts';

const variable = 'TESSERA_WEBHOOK_KEY';

interface WebhookKeyOptions {
  readonly tenant: string;
  readonly clientId: string;
  readonly key?: string;
}

/** The key with which an application's notification system verifies signatures, derived by the server's own code. */
export function addWebhookKey(program: Command, context: CommandContext): void {
  program
    .command('webhook-key')
    .description("print the key with which an application's notification system verifies requests")
    .addOption(tenantOption())
    .requiredOption('--client-id <id>', 'the application', nonEmpty)
    .option('--key <key>', `the key of the deployment ${environmentHelp(variable)}`)
    .action(async ({ tenant, clientId, key: given }: WebhookKeyOptions, command: Command) => {
      const [{ createWebhookKeys }, { Secret }] = await Promise.all([
        import('@tessera/device'),
        import('@tessera/kit'),
      ]);
      const key = orEnvironment(given, variable, context) ?? '';
      if (key === '') command.error(`error: --key or ${variable} is required.`);
      if (key.length < 32) command.error('error: the key must have at least 32 characters.');
      const webhookKeys = createWebhookKeys(new Secret(key));
      context.out(`${webhookKeys.signingKey({ tenantId: tenant, clientId })}\n`);
    });
}
