import { redirectUriPrefixProblem } from '@tessera/oauth';
import type { Client } from '../realm/representation.ts';

/**
 * The beginning that a redirect URI of Keycloak with a wildcard stands for; undefined where it may not be registered
 * here, such as one that is not after a slash, or of a client that need not send a code challenge.
 */
export function prefixOf({ publicClient, attributes }: Client, absolute: string): string | undefined {
  const hasChallenge = publicClient || attributes['pkce.code.challenge.method'] === 'S256';
  const [, prefix = ''] = /^([^*?]*\/)\*$/.exec(absolute) ?? [];
  return hasChallenge && redirectUriPrefixProblem(prefix) === undefined ? prefix : undefined;
}

/** Redirect URIs without those that are kept as beginnings. */
export interface WithPrefixes {
  readonly uris: readonly string[];
  readonly prefixes: readonly string[];
}

/** What of redirect URIs comes as beginnings, if wildcards are kept. */
export function withPrefixes(client: Client, uris: readonly string[], keeps: boolean): WithPrefixes {
  const prefixes = new Set<string>();
  const others = uris.map((uri) => {
    const absolute = uri.startsWith('/') ? `${client.rootUrl.replace(/\/$/, '')}${uri}` : uri;
    const prefix = keeps ? prefixOf(client, absolute) : undefined;
    if (prefix === undefined) return uri;
    prefixes.add(prefix);
    // Without the slash it matches in Keycloak, too.
    return prefix.slice(0, -1);
  });
  return { uris: others, prefixes: [...prefixes] };
}
