import { isLoopbackRedirect, matchesRegistered } from '@tessera/oauth';
import type { Application } from '@tessera/proto-gen/directory';

type Redirects = Pick<Application, 'redirectUris' | 'redirectUriPrefixes' | 'anyLoopbackPort'>;

/**
 * Where people open an application, as far as its redirect URIs tell: the origin of the one that a request names, or of
 * its only one. Only of those that are registered, as anybody may have made the request. Undefined for an application
 * that runs on the device of the person, and for one at our own origin, where we have no page for it.
 */
export function applicationHome(
  { redirectUris, redirectUriPrefixes, anyLoopbackPort }: Redirects,
  redirectUri: string,
  ourOrigin: string,
): string | undefined {
  const named = redirectUri === '' && redirectUris.length === 1 ? redirectUris[0] : redirectUri;
  const isTheirs = named !== undefined && matchesRegistered(redirectUris, named, { redirectUriPrefixes });
  const url = isTheirs ? URL.parse(named) : null;
  if (url === null || !['https:', 'http:'].includes(url.protocol) || url.origin === ourOrigin)
    return undefined;
  return anyLoopbackPort && isLoopbackRedirect(url.href) ? undefined : `${url.origin}/`;
}
