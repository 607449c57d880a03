import { isLoopbackRedirect, logoutRedirectUriProblem, redirectUriProblem } from '@tessera/oauth';
import type { Entry } from '../../files/imported.ts';
import type { Report } from '../realm/realm.ts';
import type { Client } from '../realm/representation.ts';
import { withPrefixes } from './wildcards.ts';

/** What stands in place of the wildcards of a client. */
export interface ExactUris {
  readonly redirectUris: readonly string[];
  readonly logoutRedirectUris: readonly string[];
}

const separator = '##';

/** The redirect URIs that a client may use here: its own exact ones, and those that are said in place of wildcards. */
export function redirectUrisOf(
  client: Client,
  { given, keeps }: { readonly given: ExactUris | undefined; readonly keeps: boolean },
  report: Report,
): string[] {
  const { uris, prefixes } = withPrefixes(client, client.redirectUris, keeps);
  for (const prefix of prefixes)
    report(
      `redirect URI ${prefix}* of application ${client.clientId}: what begins so matches, with endpoints: keycloak`,
    );
  const own = exact(client, uris, redirectUriProblem, report);
  return [...new Set([...own, ...(given?.redirectUris ?? [])])];
}

/**
 * The keys of an application that people sign in to by redirect. Reports what of it is left out.
 * @param mustSend called with what it has to send from now on
 */
export function redirectsOf(
  client: Client,
  {
    redirectUris,
    given,
    keeps,
  }: {
    readonly redirectUris: readonly string[];
    readonly given: ExactUris | undefined;
    readonly keeps: boolean;
  },
  report: Report,
  mustSend: (what: string) => void,
): Entry {
  const { clientId, attributes, publicClient } = client;
  const declared = logoutUrisOf(client);
  const { prefixes } = withPrefixes(client, client.redirectUris, keeps);
  const ofItsOwn = withPrefixes(
    client,
    declared.filter((uri) => uri !== '+'),
    keeps,
  );
  const isSame = declared.includes('+');
  const logoutPrefixes = [...new Set([...ofItsOwn.prefixes, ...(isSame ? prefixes : [])])];
  const own = exact(client, ofItsOwn.uris, logoutRedirectUriProblem, report);
  const logoutRedirectUris = [
    ...new Set([
      ...own,
      ...(declared.includes('+') ? redirectUris : []),
      ...(given?.logoutRedirectUris ?? []),
    ]),
  ];
  if (attributes['frontchannel.logout.url'])
    report(`front-channel logout of application ${clientId}: has no counterpart`);
  const backchannelLogoutUri = attributes['backchannel.logout.url'];
  const isSessionRequired = attributes['backchannel.logout.session.required'] === 'true';
  const challenge = attributes['pkce.code.challenge.method'] ?? '';
  if (challenge === 'plain') mustSend('must send its code challenges as S256, no longer plain');
  if (challenge === '' && publicClient) mustSend('must send a code challenge (PKCE, S256), as it is public');
  return {
    redirectUris,
    ...(matchesAnyPort(client, redirectUris, report) && { loopbackPorts: 'any' }),
    ...(prefixes.length > 0 && { redirectUriPrefixes: prefixes }),
    ...(logoutRedirectUris.length > 0 && { logoutRedirectUris }),
    ...(logoutPrefixes.length > 0 && { logoutRedirectUriPrefixes: logoutPrefixes }),
    ...(challenge === '' && !publicClient && { pkce: 'optional' }),
    ...(backchannelLogoutUri && {
      backchannelLogoutUri,
      backchannelLogoutSessionRequired: isSessionRequired,
    }),
  };
}

/** As the file has them; `+` stands for the redirect URIs. */
export function logoutUrisOf({ attributes }: Client): string[] {
  return (attributes['post.logout.redirect.uris'] ?? '')
    .split(separator)
    .filter((uri) => uri !== '' && uri !== '-');
}

/**
 * Keycloak lets every port in where a loopback redirect URI names none. Reports one that would let it in for others,
 * too.
 */
function matchesAnyPort({ clientId }: Client, redirectUris: readonly string[], report: Report): boolean {
  const loopback = redirectUris.filter(isLoopbackRedirect);
  const withPort = loopback.filter((uri) => /^[^/]*\/\/[^/?]*:\d+([/?]|$)/.test(uri));
  if (withPort.length === 0) return loopback.length > 0;
  if (withPort.length < loopback.length)
    report(
      `any port of loopback redirect URIs of application ${clientId}: ${withPort.join(', ')} has its own; declare loopbackPorts: any if it may have another`,
    );
  return false;
}

type ProblemOf = (uri: string) => string | undefined;

/** The URIs that stand for themselves, as absolute ones. Reports the others. */
function exact(client: Client, uris: readonly string[], problemOf: ProblemOf, report: Report): string[] {
  // Also read where there is none, so that its key is known.
  const { clientId, rootUrl } = client;
  const found = uris.flatMap((uri) => {
    // Keycloak writes such ones.
    if (uri === '') return [];
    const { absolute, problem } = readUri({ rootUrl }, uri, problemOf);
    if (problem !== undefined) report(`redirect URI ${uri} of application ${clientId}: ${problem}`);
    return problem === undefined ? [absolute] : [];
  });
  return [...new Set(found)];
}

/** A redirect URI as an absolute one, and why it does not come. */
export function readUri(
  { rootUrl }: Pick<Client, 'rootUrl'>,
  uri: string,
  problemOf: ProblemOf,
): { readonly absolute: string; readonly problem: string | undefined } {
  const absolute = uri.startsWith('/') ? `${rootUrl.replace(/\/$/, '')}${uri}` : uri;
  if (absolute.includes('*')) return { absolute, problem: 'wildcards are refused' };
  if (absolute.startsWith('/') || absolute.includes('${'))
    return { absolute, problem: 'its host is not in the file' };
  return { absolute, problem: problemOf(absolute)?.replace(/^It /, '').replace(/\.$/, '') };
}
