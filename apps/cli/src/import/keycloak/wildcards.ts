import { redirectUriPrefixProblem } from '@tessera/oauth';
import type { Client } from './realm.ts';

/**
 * The beginning that a redirect URI of Keycloak with a wildcard stands for; undefined where it may not be registered
 * here, such as one that is not after a slash, or of a client that need not send a code challenge.
 */
export function prefixOf({ publicClient, attributes }: Client, absolute: string): string | undefined {
  const hasChallenge = publicClient || attributes['pkce.code.challenge.method'] === 'S256';
  const [, prefix = ''] = /^([^*?]*\/)\*$/.exec(absolute) ?? [];
  return hasChallenge && redirectUriPrefixProblem(prefix) === undefined ? prefix : undefined;
}
