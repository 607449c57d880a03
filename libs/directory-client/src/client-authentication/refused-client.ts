import { isNoRefusal, readAssertion, receivedText, receivedUri, type OAuthError } from '@tessera/oauth';
import type { DirectoryClient } from '../directory-client-types.ts';

/**
 * A refusal of a client with what the access log says of it. The client is named if it is known, because what was sent
 * in place of an identifier may be a secret. Errors of normal operation and of servers are returned as they are.
 */
export function refusedClient(
  error: OAuthError,
  directory: Pick<DirectoryClient, 'hasCached'>,
  { clientId, phase, reason }: { clientId: string; phase: string; reason: string | undefined },
): OAuthError {
  if (isNoRefusal(error)) return error;
  const unknown = error.code === 'invalid_client' ? 'unknown_client' : undefined;
  return error.withRefusal({
    clientId: directory.hasCached(clientId) ? clientId : unknown,
    phase,
    reason: reason ?? error.refusal?.reason ?? error.message,
  });
}

const mostAudiences = 3;

/**
 * The start of what an assertion names as its audience, for the log and the audit trail; undefined if it names none.
 * Nothing else is said of it, as who reads the log could use it.
 */
export function receivedAudience(assertion: string): string | undefined {
  const read = readAssertion(assertion);
  if (typeof read === 'string') return undefined;
  const named = [read.claims['aud']].flat().filter((each) => typeof each === 'string');
  if (named.length === 0) return undefined;
  const more = named.length > mostAudiences ? ` and ${named.length - mostAudiences} more` : '';
  return receivedText(named.slice(0, mostAudiences).map(receivedUri).join(' ') + more);
}
