import { createHmac } from 'node:crypto';
import type { Command } from './command.ts';
import { UsageError } from './terminal.ts';

/** What an application's notification system verifies with, made from the deployment's key as the server makes it. */
export const webhookKey: Command = {
  words: ['webhook-key'],
  summary: "print the key with which an application's notification system verifies requests",
  options: {
    tenant: { type: 'string', help: 'The tenant', required: true },
    'client-id': { type: 'string', help: 'The application', required: true },
    key: { type: 'string', help: "The deployment's key", environment: 'TESSERA_WEBHOOK_KEY', required: true },
  },
  async run(values, { out }) {
    const key = values.required('key');
    if (key.length < 32) throw new UsageError('The key must have at least 32 characters.');
    const purpose = `sign\0${values.required('tenant')}\0${values.required('client-id')}`;
    out(`whsec_${createHmac('sha256', key).update(purpose).digest('base64')}\n`);
  },
};
