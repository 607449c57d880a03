import { scopesOfClient } from './client-scopes.ts';
import type { Client, Realm } from '../realm/representation.ts';
import type { Roles } from '../realm/roles.ts';

/** The role of applications whose tokens have no roles: nobody has it. */
export const noRoles = 'keycloak:no-roles';

/**
 * The roles that the tokens of a client may have: its own, those mapped to it and to its client scopes, and what they
 * are composed of. Undefined if it is all of them.
 */
export function roleScopeOf(client: Client, realm: Realm, roles: Roles): readonly string[] | undefined {
  const { clientId, consentRequired } = client;
  // Keycloak's default.
  const { fullScopeAllowed = !consentRequired } = client;
  if (fullScopeAllowed) return undefined;
  const scopes = new Set(scopesOfClient(client, realm));
  const rolesIn = (mappings: Realm['scopeMappings']) =>
    mappings
      .filter(({ client: mapped, clientScope }) => mapped === clientId || scopes.has(clientScope))
      .flatMap((mapping) => mapping.roles);
  const { client: ofAll } = realm.roles;
  const own = Object.hasOwn(ofAll, clientId) ? (ofAll[clientId] ?? []) : [];
  const ofClients = Object.entries(realm.clientScopeMappings).map(
    ([name, mappings]) => [name, rolesIn(mappings)] as const,
  );
  const clientRoles = new Map<string, readonly string[]>(ofClients);
  clientRoles.set(clientId, [...(clientRoles.get(clientId) ?? []), ...own.map(({ name }) => name)]);
  const found = roles.of({
    realmRoles: rolesIn(realm.scopeMappings),
    clientRoles: Object.fromEntries(clientRoles),
  });
  return found.length > 0 ? found : [noRoles];
}
