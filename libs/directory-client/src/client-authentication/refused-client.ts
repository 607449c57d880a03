import type { OAuthError } from '@tessera/oauth';
import type { DirectoryClient } from '../directory-client-types.ts';

const ordinary: ReadonlySet<string> = new Set([
  'authorization_pending',
  'slow_down',
  'server_error',
  'temporarily_unavailable',
]);

/**
 * A refusal of a client with what the access log says of it. The client is named if it is known, because what was sent
 * in place of an identifier may be a secret. Errors of normal operation and of servers are returned as they are.
 */
export function refusedClient(
  error: OAuthError,
  directory: Pick<DirectoryClient, 'hasCached'>,
  { clientId, phase, reason }: { clientId: string; phase: string; reason: string | undefined },
): OAuthError {
  if (ordinary.has(error.code)) return error;
  const unknown = error.code === 'invalid_client' ? 'unknown_client' : undefined;
  return error.withRefusal({
    clientId: directory.hasCached(clientId) ? clientId : unknown,
    phase,
    reason: reason ?? error.refusal?.reason ?? error.message,
  });
}
