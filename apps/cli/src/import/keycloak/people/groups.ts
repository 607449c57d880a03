import type { Entry } from '../../files/imported.ts';
import type { Mapper, Realm, User } from '../realm/representation.ts';

/** The mapper that names the groups of a person. */
export const groupMapper = 'oidc-group-membership-mapper';

/** The attributes with the groups of a person: paths, or names alone. */
const attributes = { true: 'keycloakGroups', false: 'keycloakGroupNames' } as const;

/** The attribute that a mapper of groups names: Keycloak gives names where it does not say `full.path`. */
export function groupAttributeOf({ 'full.path': full = '' }: Mapper['config']): string {
  return attributes[full === 'true' ? 'true' : 'false'];
}

/**
 * The attributes of a person with their groups, for those mappers that a realm has. Groups above theirs are not among
 * them, as in Keycloak.
 */
export function groupAttributes({ clients, clientScopes = [] }: Realm): (user: User) => Entry {
  const mappers = [...clients, ...clientScopes].flatMap(({ protocolMappers }) => protocolMappers);
  const named = new Set(
    mappers
      .filter(({ protocolMapper }) => protocolMapper === groupMapper)
      .map(({ config }) => groupAttributeOf(config)),
  );
  return ({ groups: paths }) => {
    // Records hold nothing of what is watched while it is read.
    const groups = [...paths];
    return groups.length === 0
      ? {}
      : Object.fromEntries(
          [...named].map((name) => [name, name === attributes.true ? groups : groups.map(nameOfGroup)]),
        );
  };
}

/** The last part of a path, where slashes of names are escaped. */
function nameOfGroup(path: string): string {
  return (path.split(/(?<!~)\//).at(-1) ?? '').replaceAll('~/', '/');
}
