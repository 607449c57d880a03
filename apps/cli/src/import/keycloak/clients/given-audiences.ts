import { audienceMapper, audienceOf } from './audience-scopes.ts';
import { assignedScopes, audienceResolveMapper } from './client-scopes.ts';
import { ownScopes, type Report } from '../realm/realm.ts';
import type { Client, Mapper, Realm } from '../realm/representation.ts';
import type { Roles } from '../realm/roles.ts';

/** The client of Keycloak of which everybody has roles. */
const ofEverybody = 'account';

/** What an application may have. */
const mostAudiences = 20;

/** What audiences are read with. */
export interface OfAudiences {
  readonly realm: Realm;
  readonly roles: Roles;
  /** Whether tokens have all roles of people, those of Keycloak's own clients too. */
  readonly hasAllRoles: boolean;
}

/**
 * The audiences that the access tokens of a client have, besides those of its scopes: by its own mappers, and by those
 * of the client scopes that it always gets. Those of clients whose roles a token has are for people with such a role.
 */
export function audiencesOf(
  client: Client,
  { realm, roles, hasAllRoles }: OfAudiences,
  report: Report,
): string[] {
  const always = assignedScopes(client, realm, 'always').filter(
    ({ protocol }) => protocol === 'openid-connect',
  );
  const added = [
    ...client.protocolMappers,
    // The first audience of another scope is that of its resource.
    ...always.flatMap(({ name, protocolMappers }) =>
      ownScopes.has(name) ? protocolMappers : protocolMappers.filter(isAudience).slice(1),
    ),
  ];
  const named = added.filter(isAudience).flatMap((mapper) => {
    const audience = audienceOf(mapper);
    if (audience === '') return [];
    const { 'access.token.claim': inAccessToken, 'id.token.claim': inIdToken } = mapper.config;
    if (inIdToken === 'true' && audience !== client.clientId)
      report(
        `audience ${audience} of ID tokens of application ${client.clientId}: they are for itself alone`,
      );
    return inAccessToken === 'true' ? [audience] : [];
  });
  const resolves = [...client.protocolMappers, ...always.flatMap((scope) => scope.protocolMappers)].some(
    ({ protocolMapper, config }) =>
      protocolMapper === audienceResolveMapper && config['access.token.claim'] !== 'false',
  );
  if (!resolves) return [...new Set(named)].slice(0, mostAudiences);
  const fixed = [...new Set([...named, ...(hasAllRoles ? [ofEverybody] : [])])];
  return [...fixed, ...ofOtherClients(client, roles, mostAudiences - fixed.length, report)];
}

/** As many as there is room for, without a look at all of them, which each client would take again. */
function ofOtherClients({ clientId }: Client, roles: Roles, room: number, report: Report): string[] {
  const others: string[] = [];
  for (const name of roles.clients) {
    if (others.length >= room) break;
    if (name !== clientId && !roles.areMixed(name)) others.push(`${name}:*`);
  }
  const more = roles.clients.size - others.length - (roles.clients.has(clientId) ? 1 : 0);
  if (others.length >= room && more > 0)
    report(`audiences of application ${clientId}: roles of ${more} more clients add none`);
  return others;
}

function isAudience({ protocolMapper }: Mapper): boolean {
  return protocolMapper === audienceMapper;
}
