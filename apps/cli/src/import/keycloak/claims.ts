import { userInfoClaimNames } from '@tessera/oauth';
import type { Entry } from '../files/imported.ts';
import { idAttribute } from './people.ts';
import { audienceMapper } from './audience-scopes.ts';
import {
  ownScopes,
  scopesOfClient,
  type Client,
  type ClientScope,
  type Mapper,
  type Realm,
  type Report,
} from './realm.ts';
import type { Choices } from './restrictions.ts';

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
  'oidc-audience-resolve-mapper',
  'oidc-sub-mapper',
]);

/** Mappers of which every key is read, or has a line; others have a line as a whole. */
export const readMappers: ReadonlySet<string> = new Set([
  ...needless,
  attributeMapper,
  audienceMapper,
  clientRoleMapper,
  realmRoleMapper,
]);

/** What the client scopes of every realm say: standard claims of users, and roles in objects. */
const ownClaims: ReadonlySet<string> = new Set([
  ...userInfoClaimNames,
  'auth_time',
  'clientAddress',
  'clientHost',
  'clientId',
  'client_id',
  'organization',
  'realm_access.roles',
  'resource_access.${client_id}.roles',
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
    if (!ownScopes.has(name)) return protocolMapper !== audienceMapper;
    const claim = config['claim.name'];
    if (claim === undefined) return !ownMappers.has(protocolMapper);
    return !ownClaims.has(claim) && !(name === 'microprofile-jwt' && ownOfMicroprofile.has(claim));
  });
}

/** Reports the mappers of a client for which nobody signs in. */
export function reportMappers({ clientId, protocolMappers }: Client, report: Report): void {
  const added = protocolMappers.filter(({ protocolMapper, config }) => {
    const { 'claim.name': claim = '' } = config;
    return !needless.has(protocolMapper) && !ownClaims.has(claim);
  });
  if (added.length > 0)
    report(`mappers of application ${clientId}: claims are those of people, and nobody signs in`);
}

/** The claims of a client, by its mappers and those that were added to its client scopes. */
export function claimsOf(
  client: Client,
  { realm, acceptsWider }: Choices & { readonly realm: Realm },
  report: Report,
): Entry {
  const { clientScopes = [] } = realm;
  const assigned = new Set(scopesOfClient(client, realm));
  const ofScopes = clientScopes.filter(({ name }) => assigned.has(name)).flatMap(addedMappers);
  const claims: Entry = {
    keycloak_id: { attribute: idAttribute, targets: ['idToken', 'accessToken', 'userinfo'] },
  };
  for (const mapper of [...client.protocolMappers, ...ofScopes]) {
    if (needless.has(mapper.protocolMapper)) continue;
    const { name, protocolMapper } = mapper;
    const line = (text: string) => report(`mapper ${name} of application ${client.clientId}: ${text}`);
    const claim = claimOf(mapper, acceptsWider);
    if ('problem' in claim) line(claim.problem);
    else {
      claims[claim.name] = claim.mapping;
      if (protocolMapper === clientRoleMapper)
        line('its claim has all roles, not those of clients; accepted');
    }
  }
  return claims;
}

type Claim = { readonly name: string; readonly mapping: Entry } | { readonly problem: string };

function claimOf({ protocolMapper, config }: Mapper, acceptsWider: boolean): Claim {
  if (protocolMapper === audienceMapper)
    return { problem: 'audiences come with scopes; give a client scope this mapper' };
  if (protocolMapper === clientRoleMapper && !acceptsWider)
    return { problem: 'it has roles of clients alone, but here such a claim has all roles' };
  const source = sourceOf(protocolMapper, config);
  if (source === undefined) return { problem: `${protocolMapper} has no counterpart` };
  const chosen = Object.entries(targets).flatMap(([key, target]) => (config[key] === 'true' ? [target] : []));
  if (chosen.length === 0) return { problem: 'it sets a claim nowhere' };
  const escaped = config['claim.name'] ?? '';
  // Keycloak makes objects of a name with dots, unless they are escaped.
  if (escaped.replaceAll('\\.', '').includes('.'))
    return { problem: 'claims in objects have no counterpart' };
  return { name: escaped.replaceAll('\\.', '.'), mapping: { ...source, targets: chosen } };
}

function sourceOf(protocolMapper: string, config: Mapper['config']): Entry | undefined {
  const attribute = config['user.attribute'];
  if (protocolMapper === realmRoleMapper || protocolMapper === clientRoleMapper) return { roles: true };
  return protocolMapper === attributeMapper && attribute !== undefined ? { attribute } : undefined;
}
