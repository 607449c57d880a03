import type { Command } from './command.ts';
import { UsageError } from './terminal.ts';

/** What an application's notification system verifies with, made from the deployment's key by the server's own code. */
export const webhookKey: Command = {
  words: ['webhook-key'],
  summary: "print the key with which an application's notification system verifies requests",
  options: {
    tenant: { type: 'string', help: 'The tenant', required: true },
    'client-id': { type: 'string', help: 'The application', required: true },
    key: { type: 'string', help: "The deployment's key", environment: 'TESSERA_WEBHOOK_KEY', required: true },
  },
  async run(values, { out }) {
    const [{ createWebhookKeys }, { Secret }] = await Promise.all([
      import('@tessera/device'),
      import('@tessera/kit'),
    ]);
    const key = values.required('key');
    if (key.length < 32) throw new UsageError('The key must have at least 32 characters.');
    const application = { tenantId: values.required('tenant'), clientId: values.required('client-id') };
    out(`${createWebhookKeys(new Secret(key)).signingKey(application)}\n`);
  },
};
