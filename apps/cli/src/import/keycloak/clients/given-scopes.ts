import { scopesWithClaims } from '@tessera/oauth';
import type { Entry } from '../../files/imported.ts';
import { scopeListsOf } from './client-scopes.ts';
import { audiencesOf, type OfAudiences } from './given-audiences.ts';
import type { Report } from '../realm/realm.ts';
import type { Client } from '../realm/representation.ts';

interface Given extends OfAudiences {
  /** Those that it comes with. */
  readonly scopes: readonly string[];
}

/**
 * What a client gets whatever it asks for: of the scopes that it comes with those of its default client scopes,
 * audiences, and the claims of its scopes in its ID tokens too. Reports what it must ask for from now on.
 */
export function givenScopesOf(client: Client, { scopes, ...of }: Given, report: Report): Entry {
  const { always } = scopeListsOf(client, of.realm);
  const given = scopes.filter((name) => always.includes(name));
  const defaultScopes = given.filter((name) => name !== 'offline_access');
  if (defaultScopes.length < given.length)
    report(`offline_access of application ${client.clientId}: is given only if it asks for it`);
  const idTokenClaims = scopesWithClaims.filter((name) => scopes.includes(name));
  const audiences = audiencesOf(client, of, report);
  return {
    ...(audiences.length > 0 && { audiences }),
    ...(defaultScopes.length > 0 && { defaultScopes }),
    ...(idTokenClaims.length > 0 && { idTokenClaims }),
  };
}
