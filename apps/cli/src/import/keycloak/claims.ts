import type { Entry } from '../files/imported.ts';
import { idAttribute } from './people.ts';
import { ownScopes, type Client, type Mapper, type Realm, type Report } from './realm.ts';
import { audienceMapper } from './audience-scopes.ts';

const targets = {
  'id.token.claim': 'idToken',
  'access.token.claim': 'accessToken',
  'userinfo.token.claim': 'userinfo',
} as const;

const roleMappers = new Set(['oidc-usermodel-realm-role-mapper', 'oidc-usermodel-client-role-mapper']);

/** They say what every token here says anyway. */
const needless = new Set([
  'oidc-acr-mapper',
  'oidc-allowed-origins-mapper',
  'oidc-audience-resolve-mapper',
  'oidc-sub-mapper',
]);

/** The claims of a client, by its mappers and those of the client scopes that the realm has made. */
export function claimsOf(client: Client, { clientScopes }: Realm, report: Report): Entry {
  const assigned = new Set([...client.defaultClientScopes, ...client.optionalClientScopes]);
  const ofScopes = clientScopes
    .filter(({ name }) => assigned.has(name) && !ownScopes.has(name))
    .flatMap(({ protocolMappers }) => protocolMappers)
    .filter(({ protocolMapper }) => protocolMapper !== audienceMapper);
  const claims: Entry = {
    keycloak_id: { attribute: idAttribute, targets: ['idToken', 'accessToken', 'userinfo'] },
  };
  for (const mapper of [...client.protocolMappers, ...ofScopes]) {
    if (needless.has(mapper.protocolMapper)) continue;
    const claim = claimOf(mapper);
    if ('problem' in claim)
      report(`mapper ${mapper.name} of application ${client.clientId}: ${claim.problem}`);
    else claims[claim.name] = claim.mapping;
  }
  return claims;
}

type Claim = { readonly name: string; readonly mapping: Entry } | { readonly problem: string };

function claimOf({ protocolMapper, config }: Mapper): Claim {
  if (protocolMapper === audienceMapper)
    return { problem: 'audiences come with scopes; give a client scope this mapper' };
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
  if (roleMappers.has(protocolMapper)) return { roles: true };
  const attribute = config['user.attribute'];
  return protocolMapper === 'oidc-usermodel-attribute-mapper' && attribute !== undefined
    ? { attribute }
    : undefined;
}
