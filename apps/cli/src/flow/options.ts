import type { Option, Values } from '../command.ts';
import type { OAuthClient } from '../oauth/client.ts';
import type { Terminal } from '../terminal.ts';

/** Options that every flow takes. */
export const flowOptions = {
  issuer: {
    type: 'string',
    help: 'The deployment',
    environment: 'TESSERA_ISSUER',
    default: 'http://localhost:8080',
  },
  'client-id': {
    type: 'string',
    help: 'The application to act as',
    environment: 'TESSERA_CLIENT_ID',
    required: true,
  },
  'client-secret': {
    type: 'string',
    help: 'Its secret; other users of the machine see an argument, so prefer the file',
    environment: 'TESSERA_CLIENT_SECRET',
  },
  scope: { type: 'string', help: 'Space-delimited scopes', default: 'openid' },
  resource: { type: 'string', help: 'Audience of the API the token is for' },
} as const satisfies Record<string, Option>;

export function clientOf(values: Values): OAuthClient {
  return { clientId: values.required('client-id'), clientSecret: values.text('client-secret') };
}

/** Writes the token response to standard output. */
export function printTokens(body: Readonly<Record<string, unknown>>, { out, say }: Terminal): void {
  say('Approved.\n');
  out(`${JSON.stringify(body, null, 2)}\n`);
}
