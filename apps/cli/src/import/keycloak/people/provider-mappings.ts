import type { Entry } from '../../files/imported.ts';
import type { Report } from '../realm/realm.ts';
import type { ProviderMapper, Realm } from '../realm/representation.ts';
import type { Roles } from '../realm/roles.ts';

/** What a mapper of a provider becomes; undefined if it has no counterpart. */
type Mapping =
  | { readonly role: Entry }
  | { readonly attribute: readonly [name: string, claim: string] }
  | { readonly isUsual: true };

/** What Keycloak keeps of people beside their attributes, and the claim from which it comes here without a mapping. */
const usualClaims: ReadonlyMap<string, string> = new Map([
  ['email', 'email'],
  ['firstName', 'given_name'],
  ['lastName', 'family_name'],
  ['username', ''],
]);

/** The mappings of a provider by its alias and its issuer. Reports the mappers that do not come. */
export function providerMappings(
  { identityProviderMappers }: Realm,
  { alias, issuer }: { readonly alias: string; readonly issuer: string },
  roles: Roles,
  report: Report,
): Entry {
  const roleMappings: Entry[] = [];
  const attributeMappings: Record<string, string> = {};
  for (const mapper of identityProviderMappers) {
    if (mapper.identityProviderAlias !== alias) continue;
    const mapping = mappingOf(mapper, issuer, roles);
    if (mapping === undefined)
      report(
        `mapper ${mapper.name} of identity provider ${alias}: ${mapper.identityProviderMapper} with these settings has no counterpart`,
      );
    else if ('role' in mapping) roleMappings.push(mapping.role);
    else if ('attribute' in mapping) attributeMappings[mapping.attribute[0]] = mapping.attribute[1];
  }
  return {
    ...(roleMappings.length > 0 && { roleMappings }),
    ...(Object.keys(attributeMappings).length > 0 && { attributeMappings }),
  };
}

function mappingOf(
  { identityProviderMapper: kind, config }: ProviderMapper,
  issuer: string,
  roles: Roles,
): Mapping | undefined {
  const role = roleOf(config['role'] ?? '', roles);
  switch (kind) {
    // Everybody who signs in with it has it: its tokens all name its issuer.
    case 'oidc-hardcoded-role-idp-mapper':
      return roleMapping('iss', issuer, role);
    case 'oidc-role-idp-mapper':
      return roleMapping(config['claim'], config['claim.value'], role);
    case 'oidc-advanced-role-idp-mapper': {
      const [claim, ...more] = claimsOf(config['claims'] ?? '');
      if (more.length > 0 || config['are.claim.values.regex'] === 'true') return undefined;
      return roleMapping(claim?.key, claim?.value, role);
    }
    case 'oidc-user-attribute-idp-mapper':
      return attributeMapping(config['user.attribute'], config['claim']);
    case 'google-user-attribute-mapper':
      return attributeMapping(config['userAttribute'], config['jsonField']);
    default:
      return undefined;
  }
}

function roleMapping(claim = '', value = '', role: string | undefined): Mapping | undefined {
  return role !== undefined && isTopLevel(claim) && value !== ''
    ? { role: { claim, value, role } }
    : undefined;
}

function attributeMapping(name = '', claim = ''): Mapping | undefined {
  if (name === '' || !isTopLevel(claim)) return undefined;
  const usual = usualClaims.get(name);
  if (usual === undefined) return { attribute: [name, claim] };
  return usual === claim ? { isUsual: true } : undefined;
}

/** Keycloak reads a name with dots as a path, and a backslash before one as a dot of the name. */
function isTopLevel(claim: string): boolean {
  return claim !== '' && !/[.\\[]/.test(claim);
}

/** The role by its name here: Keycloak writes that of a client as `<client>.<role>`, and both may have dots. */
function roleOf(name: string, roles: Roles): string | undefined {
  const known = new Set(roles.names);
  if (known.has(name)) return name;
  for (let at = name.indexOf('.'); at !== -1; at = name.indexOf('.', at + 1)) {
    const ofClient = `${name.slice(0, at)}:${name.slice(at + 1)}`;
    if (known.has(ofClient)) return ofClient;
  }
  return undefined;
}

function claimsOf(text: string): { readonly key?: string; readonly value?: string }[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value)
      ? value.filter(
          (each): each is { key?: string; value?: string } => typeof each === 'object' && each !== null,
        )
      : [];
  } catch {
    return [];
  }
}
