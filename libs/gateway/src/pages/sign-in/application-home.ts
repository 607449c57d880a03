import { isLoopbackRedirect } from '@tessera/oauth';
import type { Application } from '@tessera/proto-gen/directory';

/**
 * Where people open an application, as far as its redirect URIs tell: the origin of the one that a request names, or of
 * its only one. Only of those that are registered, as anybody may have made the request. Undefined for an application
 * that runs on the device of the person, and for one at our own origin, where we have no page for it.
 */
export function applicationHome(
  { redirectUris, anyLoopbackPort }: Pick<Application, 'redirectUris' | 'anyLoopbackPort'>,
  redirectUri: string,
  ourOrigin: string,
): string | undefined {
  const named = redirectUri === '' && redirectUris.length === 1 ? redirectUris[0] : redirectUri;
  const url = named !== undefined && redirectUris.includes(named) ? URL.parse(named) : null;
  if (url === null || !['https:', 'http:'].includes(url.protocol) || url.origin === ourOrigin)
    return undefined;
  return anyLoopbackPort && isLoopbackRedirect(url.href) ? undefined : `${url.origin}/`;
}
