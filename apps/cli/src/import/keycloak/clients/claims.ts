import { isDeepStrictEqual } from 'node:util';
import { userInfoClaimNames } from '@tessera/oauth';
import type { Entry } from '../../files/imported.ts';
import { idAttribute } from '../people/person-attributes.ts';
import { audienceMapper } from './audience-scopes.ts';
import { assignedScopes, audienceResolveMapper } from './client-scopes.ts';
import { groupAttributeOf, groupMapper } from '../people/groups.ts';
import { ownClients, ownScopes, type Report } from '../realm/realm.ts';
import type { Client, ClientScope, Mapper, Realm } from '../realm/representation.ts';
import type { Roles } from '../realm/roles.ts';

const targets = {
  'id.token.claim': 'idToken',
  'access.token.claim': 'accessToken',
  'userinfo.token.claim': 'userinfo',
} as const;

const attributeMapper = 'oidc-usermodel-attribute-mapper';
const realmRoleMapper = 'oidc-usermodel-realm-role-mapper';
const clientRoleMapper = 'oidc-usermodel-client-role-mapper';

/** They say what every token here says anyway. */
const needless = new Set([
  'oidc-acr-mapper',
  'oidc-allowed-origins-mapper',
  audienceResolveMapper,
  'oidc-sub-mapper',
]);

/** Mappers of which every key is read, or has a line; others have a line as a whole. */
export const readMappers: ReadonlySet<string> = new Set([
  ...needless,
  attributeMapper,
  audienceMapper,
  clientRoleMapper,
  groupMapper,
  realmRoleMapper,
]);

/** What the client scopes of every realm say, but for roles in objects: standard claims of users. */
const ownClaims: ReadonlySet<string> = new Set([
  ...userInfoClaimNames,
  'auth_time',
  'clientAddress',
  'clientHost',
  'clientId',
  'client_id',
  'organization',
]);

/** Whether a claim is one that the scopes of every realm have. */
export function isOwnClaim(name: unknown): boolean {
  return typeof name === 'string' && ownClaims.has(name);
}

/** Of the one scope that has other claims. */
const ownOfMicroprofile: ReadonlySet<string> = new Set(['groups', 'upn']);
/** Mappers of these scopes that name no claim. */
const ownMappers: ReadonlySet<string> = new Set([
  ...needless,
  'oidc-address-mapper',
  'oidc-full-name-mapper',
  'oidc-organization-membership-mapper',
]);

/** The mappers that somebody has given a client scope. */
function addedMappers({ name, protocol, protocolMappers }: ClientScope): Mapper[] {
  if (protocol !== 'openid-connect') return [];
  return protocolMappers.filter(({ protocolMapper, config }) => {
    if (protocolMapper === audienceMapper) return false;
    if (!ownScopes.has(name)) return true;
    const claim = config['claim.name'];
    if (claim === undefined) return !ownMappers.has(protocolMapper);
    return !ownClaims.has(claim) && !(name === 'microprofile-jwt' && ownOfMicroprofile.has(claim));
  });
}

/** What comes of a client for which nobody signs in, too. */
const notForPeople: ReadonlySet<string> = new Set([...needless, audienceMapper, realmRoleMapper]);

/** Reports the mappers of a client for which nobody signs in. */
export function reportMappers({ clientId, protocolMappers }: Client, report: Report): void {
  const added = protocolMappers.filter(({ protocolMapper, config }) => {
    const { 'claim.name': claim = '' } = config;
    return !notForPeople.has(protocolMapper) && !ownClaims.has(claim);
  });
  if (added.length > 0)
    report(`mappers of application ${clientId}: claims are those of people, and nobody signs in`);
}

/** Clients whose roles one mapper names: an application has 20 claims. */
const mostClients = 8;

/** What claims refer to. */
interface OfRealm {
  readonly realm: Realm;
  readonly roles: Roles;
}

/** The claims of a client, by its mappers and those of its client scopes that say more than every token here does. */
export function claimsOf(client: Client, { realm, roles }: OfRealm, report: Report): Entry {
  const ofScopes = assignedScopes(client, realm, 'all').flatMap(addedMappers);
  const claims = new Map<string, Entry>([
    ['keycloak_id', { attribute: idAttribute, targets: ['idToken', 'accessToken', 'userinfo'] }],
  ]);
  for (const mapper of [...client.protocolMappers, ...ofScopes]) {
    if (needless.has(mapper.protocolMapper) || mapper.protocolMapper === audienceMapper) continue;
    const line = (text: string) => report(`mapper ${mapper.name} of application ${client.clientId}: ${text}`);
    for (const claim of claimsOfMapper(mapper, client.clientId, roles)) {
      if ('problem' in claim) {
        line(claim.problem);
        continue;
      }
      const claimName = claim.path.join('.');
      const before = claims.get(claimName);
      // A key of this name is none in the declared state.
      if (claimName === '__proto__') line(`no claim has the name ${claimName}`);
      else if (before === undefined) claims.set(claimName, claim.mapping);
      else if (!isDeepStrictEqual(before, claim.mapping)) line(`another one has the claim ${claimName}`);
    }
  }
  return Object.fromEntries(claims);
}

/** The claims of the access tokens of a service: those that are there, empty, where nobody has roles. */
export function claimsOfService(client: Client, surroundings: OfRealm): Entry {
  const all = Object.entries(claimsOf(client, surroundings, () => undefined));
  const claims = all.flatMap(([name, claim]) => {
    const { roles, rolePrefix, targets } = claim as Entry & { readonly targets: readonly string[] };
    const isThere = roles === true && rolePrefix === undefined && targets.includes('accessToken');
    return isThere ? [[name, claim] as const] : [];
  });
  return claims.length === 0 ? {} : { claims: Object.fromEntries(claims) };
}

type Claim = { readonly path: readonly string[]; readonly mapping: Entry } | { readonly problem: string };

function claimsOfMapper(
  { protocolMapper, config }: Mapper,
  clientId: string,
  roles: Roles,
): readonly Claim[] {
  const chosen = Object.entries(targets).flatMap(([key, target]) => (config[key] === 'true' ? [target] : []));
  const named = config['claim.name'] ?? '';
  const claim = (source: Entry, of = clientId): Claim => {
    const path = pathOf(named, of);
    return { path, mapping: { ...source, targets: chosen, ...(path.length > 1 && { path }) } };
  };
  const attribute = config['user.attribute'];
  const isAttribute = protocolMapper === attributeMapper && attribute !== undefined;
  const isGroups = protocolMapper === groupMapper;
  if (!isAttribute && !isGroups && protocolMapper !== realmRoleMapper && protocolMapper !== clientRoleMapper)
    return [{ problem: `${protocolMapper} has no counterpart` }];
  if (chosen.length === 0) return [{ problem: 'it sets a claim nowhere' }];
  if (isGroups) return [claim({ attribute: groupAttributeOf(config), list: 'always' })];
  if (isAttribute) return [claim({ attribute, ...formOf(config) })];
  if (protocolMapper === realmRoleMapper) return [claim({ roles: true })];
  const { clients, problems } = clientsOf(config, clientId, roles);
  return [...clients.map((of) => claim({ roles: true, rolePrefix: `${of}:` }, of)), ...problems];
}

/** The names down to a claim: Keycloak makes objects of a name with dots, unless they are escaped. */
function pathOf(name: string, clientId: string): string[] {
  return name
    .split(/(?<!\\)\./)
    .map((part) => part.replaceAll('\\.', '.').replaceAll('${client_id}', clientId));
}

const types: ReadonlyMap<string, string> = new Map([
  ['int', 'number'],
  ['long', 'number'],
  ['boolean', 'boolean'],
  ['JSON', 'json'],
]);

/** Keycloak takes the first of several values, unless the claim is a list. */
function formOf({ 'jsonType.label': label = '', multivalued }: Mapper['config']): Entry {
  const type = types.get(label);
  return { ...(type !== undefined && { type }), list: multivalued === 'true' ? 'always' : 'first' };
}

/** The clients whose roles a mapper names: one, or all that have any, the client's own first. */
function clientsOf(
  { 'usermodel.clientRoleMapping.clientId': one = '' }: Mapper['config'],
  clientId: string,
  roles: Roles,
): { readonly clients: readonly string[]; readonly problems: readonly Claim[] } {
  if (ownClients.has(one)) return { clients: [], problems: [{ problem: `roles of ${one} do not come` }] };
  const named = one === '' ? firstClients(clientId, roles) : [one];
  const problems = named
    .filter((client) => roles.areMixed(client))
    .map((of): Claim => ({ problem: `roles of ${of} do not come: names of others begin with ${of}:, too` }));
  const more = one === '' ? roles.clients.size - mostClients : 0;
  if (more > 0)
    problems.push({
      problem: `names the roles of ${mostClients} clients, and not those of ${more} more`,
    });
  return { clients: named.filter((client) => !roles.areMixed(client)), problems };
}

/** As many as one mapper names, without a look at all of them, which each client would take again. */
function firstClients(clientId: string, { clients }: Roles): string[] {
  const named = clients.has(clientId) ? [clientId] : [];
  for (const of of clients) {
    if (named.length === mostClients) break;
    if (of !== clientId) named.push(of);
  }
  return named;
}
