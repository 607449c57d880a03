import { builtInScopes } from '@tessera/oauth';
import type { Client, ClientScope, Realm } from '../realm/representation.ts';

/** Adds every client of which a person has a role as an audience. */
export const audienceResolveMapper = 'oidc-audience-resolve-mapper';

/** What Keycloak gives the clients of a realm without any scope of its own. */
const keycloaksDefaults = ['profile', 'email', 'roles'];

const ofRoles = { 'access.token.claim': 'true', multivalued: 'true' };
/** Those scopes of Keycloak that say more than every token here does. */
const keycloaksScopes: readonly ClientScope[] = [
  {
    name: 'roles',
    description: '',
    protocol: 'openid-connect',
    protocolMappers: [
      {
        name: 'realm roles',
        protocolMapper: 'oidc-usermodel-realm-role-mapper',
        config: { ...ofRoles, 'claim.name': 'realm_access.roles' },
      },
      {
        name: 'client roles',
        protocolMapper: 'oidc-usermodel-client-role-mapper',
        config: { ...ofRoles, 'claim.name': 'resource_access.${client_id}.roles' },
      },
      { name: 'audience resolve', protocolMapper: audienceResolveMapper, config: {} },
    ],
  },
];

/** The client scopes of a client: those that it always gets, and those that it must ask for. */
interface ScopeLists {
  readonly always: readonly string[];
  readonly asked: readonly string[];
}

/** The client scopes of a client: without lists of its own those that the realm gives. */
export function scopeListsOf(
  { defaultClientScopes: own, optionalClientScopes: ownOptional }: Client,
  { clientScopes, defaultDefaultClientScopes: given, defaultOptionalClientScopes: optional }: Realm,
): ScopeLists {
  if (own !== undefined || ownOptional !== undefined) return { always: own ?? [], asked: ownOptional ?? [] };
  if (clientScopes === undefined && given === undefined && optional === undefined) {
    const others = [...builtInScopes].filter((name) => !keycloaksDefaults.includes(name));
    return { always: keycloaksDefaults, asked: others };
  }
  const known = (names: readonly string[] = []) =>
    names.filter((name) => clientScopes?.some((scope) => scope.name === name) ?? true);
  return { always: known(given), asked: known(optional) };
}

/** All client scopes of a client. */
export function scopesOfClient(client: Client, realm: Realm): readonly string[] {
  const { always, asked } = scopeListsOf(client, realm);
  return [...always, ...asked];
}

/** The client scopes of a client that it always gets; all with `all`, those too that it must ask for. */
export function assignedScopes(
  client: Client,
  realm: Realm,
  which: 'always' | 'all',
): readonly ClientScope[] {
  const { clientScopes = keycloaksScopes } = realm;
  const names = new Set(which === 'all' ? scopesOfClient(client, realm) : scopeListsOf(client, realm).always);
  return clientScopes.filter(({ name }) => names.has(name));
}
