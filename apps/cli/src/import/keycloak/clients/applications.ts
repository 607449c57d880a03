import { builtInScopes } from '@tessera/oauth';
import type { Entry, ToDo } from '../../files/imported.ts';
import { scopesOfClient } from './client-scopes.ts';
import { claimsOf, claimsOfService, reportMappers } from './claims.ts';
import type { RedirectUris } from './exact-uris.ts';
import { givenScopesOf } from './given-scopes.ts';
import { grantsOf } from './grants.ts';
import { bySecret, secretsOf } from '../realm/imported-secrets.ts';
import { ownClients, type Report } from '../realm/realm.ts';
import type { Client, Realm } from '../realm/representation.ts';
import { redirectsOf, redirectUrisOf } from './redirects.ts';
import { narrowedBy, type Choices } from '../realm/restrictions.ts';
import { noRoles, roleScopeOf } from './role-scope.ts';
import type { Roles } from '../realm/roles.ts';
import type { SignInFlows } from '../realm/sign-in-flows.ts';

/** What applications refer to, and how they are read. */
interface Surroundings extends Choices {
  readonly realm: Realm;
  readonly roles: Roles;
  readonly flows: SignInFlows;
  /** The scopes of the resources of the realm. */
  readonly scopes: ReadonlySet<string>;
  readonly redirectUris: RedirectUris;
  /** The end of short secrets, in ISO 8601; undefined: they do not come. */
  readonly keptUntil: string | undefined;
  /** Whether the tenant gets an issuer of its own, at which tokens need no API. */
  readonly hasIssuer: boolean;
}

/** The clients of a realm that come. */
interface ReadApplications {
  readonly applications: Entry[];
  readonly toDo: readonly ToDo[];
  /** Why an application needs a secret that the realm does not have, by its identifier. */
  readonly newSecrets: ReadonlyMap<string, string>;
  /** Clients that ask for no tokens, but answer to them: APIs. */
  readonly apis: readonly string[];
}

/**
 * The clients of a realm as applications. Reports what of them is left out. What is not narrower than in Keycloak comes
 * disabled, and is to do.
 */
export function applicationsOf(surroundings: Surroundings, report: Report): ReadApplications {
  const toDo: ToDo[] = [];
  const newSecrets = new Map<string, string>();
  const apis: string[] = [];
  const clients = surroundings.realm.clients.filter(({ clientId }) => !ownClients.has(clientId));
  const applications = clients.flatMap((client) => {
    const { clientId } = client;
    if (client.protocol !== 'openid-connect') {
      report(`application ${clientId}: ${client.protocol.toUpperCase()} has no counterpart`);
      return [];
    }
    const read = client.bearerOnly ? undefined : applicationOf(client, surroundings, report);
    if (read === undefined) {
      report(`application ${clientId}: an API is no application; it comes as the resource of its name`);
      apis.push(clientId);
      return [];
    }
    if (read.toDo.disabledFor.length + read.toDo.what.length > 0) toDo.push(read.toDo);
    if (read.lacksSecret !== undefined) newSecrets.set(clientId, read.lacksSecret);
    return [read.entry];
  });
  return { applications, toDo, newSecrets, apis };
}

interface ReadApplication {
  readonly entry: Entry;
  readonly toDo: ToDo;
  readonly lacksSecret: string | undefined;
}

function applicationOf(
  client: Client,
  surroundings: Surroundings,
  report: Report,
): ReadApplication | undefined {
  const { realm, scopes: known, keptUntil, hasIssuer } = surroundings;
  const { clientId, name, publicClient, enabled, consentRequired } = client;
  const given = surroundings.redirectUris.get(clientId);
  const isRedirected = client.standardFlowEnabled || client.implicitFlowEnabled;
  const keeps = surroundings.keepsWildcards === true;
  const redirectUris = redirectUrisOf(client, { given, keeps }, isRedirected ? report : noReport);
  const { grantTypes, hasPeople, keys, reasons, lacks } = grantsOf(client, redirectUris, report);
  if (grantTypes.length === 0) return undefined;
  const hasCodes = grantTypes.includes('authorization_code');
  const scopes = scopesOf(client, surroundings, hasPeople);
  const roles = roleScopeOf(client, realm, surroundings.roles);
  const narrowed = narrowedBy(client, { ...surroundings, hasPeople }, report);
  const secrets = secretsOf(client, keptUntil);
  const what = [...lacks];
  if (secrets.keptUntil !== undefined)
    what.push(`replace its short secret, which ends at ${secrets.keptUntil}`);
  const isRead = hasCodes || reasons.length > 0;
  // Also read where it does not count, so that its keys are known.
  const redirects = redirectsOf(
    client,
    { redirectUris, given, keeps },
    isRead ? report : noReport,
    (must) => {
      if (hasCodes) what.push(must);
    },
  );
  const disabledFor = [...reasons, ...withoutSecret(client), ...narrowed.reasons];
  if (roles?.includes(noRoles) === true)
    report(
      `roles of application ${clientId}: its tokens had none; it has ${noRoles} alone, which nobody has`,
    );
  const getsTokens = hasIssuer || scopes.some((scope) => known.has(scope));
  if (grantTypes.includes('client_credentials') && !getsTokens)
    report(
      `application ${clientId}: none of its scopes names an audience; it gets tokens by itself only if the tenant has an issuer and endpoints: keycloak`,
    );
  if (!hasPeople) reportMappers(client, report);
  const entry = {
    clientId,
    name: name === '' || name.startsWith('${') ? clientId : name,
    type: publicClient ? 'public' : 'confidential',
    ...((!enabled || !realm.enabled || disabledFor.length > 0) && { status: 'disabled' }),
    ...(hasPeople && consentRequired && { thirdParty: true }),
    ...(narrowed.policy !== undefined && { authenticationPolicy: narrowed.policy }),
    grantTypes,
    ...keys,
    ...(hasCodes && redirects),
    scopes,
    ...givenScopesOf(client, { ...surroundings, scopes, hasAllRoles: roles === undefined }, report),
    ...(hasPeople && roles !== undefined && { roles }),
    lifetimes: lifetimesOf(client, realm, grantTypes.includes('refresh_token')),
    ...(hasPeople
      ? { claims: claimsOf(client, surroundings, report) }
      : claimsOfService(client, surroundings)),
    ...(secrets.declared !== undefined && { secrets: secrets.declared }),
  };
  return { entry, toDo: { clientId, disabledFor, what }, lacksSecret: secrets.lacks };
}

const noReport: Report = () => undefined;

/** What proves more than a secret has no counterpart. */
function withoutSecret({ publicClient, clientAuthenticatorType: way }: Client): string[] {
  return publicClient || bySecret.has(way) ? [] : [`there is no counterpart of ${way} in place of a secret`];
}

/** 90 days. */
const longestSession = 7_776_000;

/** In seconds. Refresh tokens with `offline_access` are those of Keycloak's offline sessions. */
function lifetimesOf({ attributes }: Client, realm: Realm, refreshes: boolean): Entry {
  const first = (...values: readonly (string | number | undefined)[]) =>
    values.map(Number).find((value) => value > 0);
  // A client may only have less than the realm. No session here lives longer than the longest of these.
  const least = (...values: readonly (number | undefined)[]) => {
    const shortest = Math.min(longestSession, ...values.filter((value) => value !== undefined));
    return refreshes && shortest < longestSession ? shortest : undefined;
  };
  const sessionRefreshTokenIdle = least(
    first(attributes['client.session.idle.timeout'], realm.clientSessionIdleTimeout),
    first(realm.ssoSessionIdleTimeout),
  );
  const sessionRefreshTokenAbsolute = least(
    first(attributes['client.session.max.lifespan'], realm.clientSessionMaxLifespan),
    first(realm.ssoSessionMaxLifespan),
  );
  const accessToken = first(attributes['access.token.lifespan'], realm.accessTokenLifespan);
  const refreshTokenIdle = first(
    attributes['client.offline.session.idle.timeout'],
    realm.clientOfflineSessionIdleTimeout,
    realm.offlineSessionIdleTimeout,
  );
  const longest = first(
    attributes['client.offline.session.max.lifespan'],
    realm.clientOfflineSessionMaxLifespan,
    realm.offlineSessionMaxLifespan,
  );
  const refreshTokenAbsolute = realm.offlineSessionMaxLifespanEnabled ? longest : undefined;
  return Object.fromEntries(
    Object.entries({
      accessToken,
      refreshTokenIdle,
      refreshTokenAbsolute,
      sessionRefreshTokenIdle,
      sessionRefreshTokenAbsolute,
    }).filter(([, value]) => value !== undefined),
  );
}

function scopesOf(client: Client, { realm, scopes }: Surroundings, hasPeople: boolean): string[] {
  const kept = scopesOfClient(client, realm).filter(
    (name) => scopes.has(name) || (hasPeople && builtInScopes.has(name)),
  );
  return [...new Set([...(hasPeople ? ['openid'] : []), ...kept])];
}
