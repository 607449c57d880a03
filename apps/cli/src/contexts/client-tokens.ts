import { adminAudience } from '@tessera/oauth';
import { clientCredentialsGrant } from 'openid-client';
import { nameOf, type OAuthClient } from '../oauth/acting-client.ts';
import { discover, requestError, RequestError } from '../oauth/oauth-client.ts';
import type { Tokens } from '../oauth/poll.ts';
import { secretIn, tokenIn } from '../oauth/proof-files.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import type { Context } from './context-file.ts';

/**
 * Tokens of an application for the administration, with every scope of it that the application has (RFC 6749 §4.4).
 * Throws CommandError.
 */
export async function clientTokens(issuer: string, client: OAuthClient, terminal: Terminal): Promise<Tokens> {
  const config = await discover(issuer, client, terminal);
  const answer = await clientCredentialsGrant(config, { resource: adminAudience }).catch(requestError);
  if (!(answer instanceof RequestError)) return answer;
  throw new CommandError(
    `The application ${nameOf(client)} gets no token for the administration at ${issuer}: ${answer.message}`,
  );
}

/** The application of a context, with what proves who it is as it is when it is asked for. */
export function clientOfContext(client: NonNullable<Context['client']>): OAuthClient {
  const { clientId = '' } = client;
  if ('tokenFile' in client)
    return { clientId, clientSecret: undefined, assertion: () => tokenIn(client.tokenFile) };
  return { clientId, clientSecret: secretIn(client.secretFile) };
}
