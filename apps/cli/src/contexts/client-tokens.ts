import { readFileSync } from 'node:fs';
import { adminAudience } from '@tessera/oauth';
import { clientCredentialsGrant } from 'openid-client';
import { discover, requestError, RequestError, type OAuthClient } from '../oauth/oauth-client.ts';
import type { Tokens } from '../oauth/poll.ts';
import { CommandError, type Terminal } from '../terminal.ts';

/**
 * Tokens of an application for the administration, with every scope of it that the application has (RFC 6749 §4.4).
 * Throws CommandError.
 */
export async function clientTokens(issuer: string, client: OAuthClient, terminal: Terminal): Promise<Tokens> {
  const config = await discover(issuer, client, terminal);
  const answer = await clientCredentialsGrant(config, { resource: adminAudience }).catch(requestError);
  if (!(answer instanceof RequestError)) return answer;
  throw new CommandError(
    `The application ${client.clientId} gets no token for the administration at ${issuer}: ${answer.message}`,
  );
}

/** The secret in a file, as processes read theirs. Throws CommandError. */
export function secretIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch {
    throw new CommandError(`Cannot read the file ${file} with the secret of the application.`);
  }
}
