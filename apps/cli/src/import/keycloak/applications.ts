import { builtInScopes, isLoopbackRedirect } from '@tessera/oauth';
import type { Entry } from '../files/imported.ts';
import { scopesOfClient } from './client-scopes.ts';
import { claimsOf, claimsOfService, reportMappers } from './claims.ts';
import { givenScopesOf } from './given-scopes.ts';
import { ownClients, type Client, type Realm, type Report } from './realm.ts';
import { narrowedBy, type Choices } from './restrictions.ts';
import { noRoles, roleScopeOf } from './role-scope.ts';
import type { Roles } from './roles.ts';
import { secretsOf } from './imported-secrets.ts';
import type { SignInFlows } from './sign-in-flows.ts';

interface Grants {
  readonly grantTypes: string[];
  /** Whether people sign in. */
  readonly hasPeople: boolean;
  /** Whether they do by redirect, but no redirect URI is left, nor another grant. */
  readonly needsRedirects: boolean;
}

/** What applications refer to, and how they are read. */
interface Surroundings extends Choices {
  readonly realm: Realm;
  readonly roles: Roles;
  readonly flows: SignInFlows;
  /** The scopes of the resources of the realm. */
  readonly scopes: ReadonlySet<string>;
}

const separator = '##';
const withoutRedirects =
  'no exact redirect URI is left; give it some, the grant authorization_code, and its addresses for logout';

/**
 * The clients of a realm as applications. Reports what of them is left out. What is not narrower than in Keycloak comes
 * disabled, with a line that says what is to be done.
 */
export function applicationsOf(surroundings: Surroundings, report: Report): Entry[] {
  const clients = surroundings.realm.clients.filter(({ clientId }) => !ownClients.has(clientId));
  return clients.flatMap((client) => {
    const problem = reasonToLeaveOut(client);
    if (problem === undefined) return applicationOf(client, surroundings, report);
    report(`application ${client.clientId}: ${problem}`);
    return [];
  });
}

function reasonToLeaveOut(client: Client): string | undefined {
  const { protocol, bearerOnly, publicClient, clientAuthenticatorType } = client;
  if (protocol !== 'openid-connect') return `${protocol.toUpperCase()} has no counterpart`;
  if (bearerOnly) return 'an API is no application, but a resource with the scopes that name its audience';
  return publicClient || clientAuthenticatorType === 'client-secret'
    ? undefined
    : `${clientAuthenticatorType} instead of a secret has no counterpart`;
}

function applicationOf(client: Client, surroundings: Surroundings, report: Report): Entry[] {
  const { realm, scopes: known } = surroundings;
  const { clientId, name, publicClient, enabled, consentRequired } = client;
  const redirectUris = exact(client, client.redirectUris, report);
  const { grantTypes, hasPeople, needsRedirects } = grantsOf(client, redirectUris, report);
  if (grantTypes.length === 0) {
    report(`application ${clientId}: no grant is left`);
    return [];
  }
  const hasCodes = grantTypes.includes('authorization_code');
  const scopes = scopesOf(client, surroundings, hasPeople);
  const roles = roleScopeOf(client, realm, surroundings.roles);
  const narrowed = narrowedBy(client, { ...surroundings, hasPeople }, report);
  const secrets = secretsOf(client);
  // Also read where it does not count, so that its keys are known.
  const redirects = redirectsOf(client, redirectUris, hasCodes || needsRedirects ? report : () => undefined);
  const toDo = [...(needsRedirects ? [withoutRedirects] : []), ...secrets.reasons, ...narrowed.reasons];
  for (const reason of toDo) report(`application ${clientId}: comes disabled: ${reason}`);
  if (roles?.includes(noRoles) === true)
    report(
      `roles of application ${clientId}: its tokens had none; it has ${noRoles} alone, which nobody has`,
    );
  if (grantTypes.includes('client_credentials') && !scopes.some((scope) => known.has(scope)))
    report(
      `application ${clientId}: none of its scopes names an audience; it gets tokens by itself only if the tenant has an issuer and endpoints: keycloak`,
    );
  if (!hasPeople) reportMappers(client, report);
  return [
    {
      clientId,
      name: name === '' || name.startsWith('${') ? clientId : name,
      type: publicClient ? 'public' : 'confidential',
      ...((!enabled || !realm.enabled || toDo.length > 0) && { status: 'disabled' }),
      ...(hasPeople && consentRequired && { thirdParty: true }),
      ...(narrowed.policy !== undefined && { authenticationPolicy: narrowed.policy }),
      grantTypes,
      ...(hasCodes && redirects),
      scopes,
      ...givenScopesOf(client, { ...surroundings, scopes, hasAllRoles: roles === undefined }, report),
      ...(hasPeople && roles !== undefined && { roles }),
      lifetimes: lifetimesOf(client, realm, grantTypes.includes('refresh_token')),
      ...(hasPeople
        ? { claims: claimsOf(client, surroundings, report) }
        : claimsOfService(client, surroundings)),
      ...(!publicClient && { secrets: secrets.declared }),
    },
  ];
}

function grantsOf(client: Client, redirectUris: readonly string[], report: Report): Grants {
  const { clientId, attributes, publicClient, standardFlowEnabled } = client;
  const { serviceAccountsEnabled, authorizationServicesEnabled, authorizationSettings } = client;
  const isOn = (attribute: string) => attributes[attribute] === 'true';
  const hasCodes = standardFlowEnabled && redirectUris.length > 0;
  const hasDevices = isOn('oauth2.device.authorization.grant.enabled');
  const isService = serviceAccountsEnabled && !publicClient;
  const needsRedirects = standardFlowEnabled && !hasCodes && !hasDevices && !isService;
  const hasPeople = hasCodes || hasDevices || needsRedirects;
  for (const [name, isUsed] of [
    ['sign-in by redirect, without any redirect URI,', standardFlowEnabled && !hasCodes && !needsRedirects],
    ['implicit flow', client.implicitFlowEnabled],
    ['password grant', client.directAccessGrantsEnabled],
    ['CIBA, which needs a way to approve,', isOn('oidc.ciba.grant.enabled')],
    ['token exchange', isOn('standard.token.exchange.enabled')],
    ['authorization services', authorizationServicesEnabled || authorizationSettings !== undefined],
  ] as const)
    if (isUsed) report(`${name} of application ${clientId}: has no counterpart`);
  const refreshes = attributes['use.refresh.tokens'] !== 'false';
  const grants = {
    authorization_code: hasCodes,
    // Without a grant there is no application to give redirect URIs.
    refresh_token: needsRedirects || (hasPeople && refreshes),
    device_code: hasDevices,
    client_credentials: isService,
  };
  return {
    grantTypes: Object.entries(grants).flatMap(([name, isGranted]) => (isGranted ? [name] : [])),
    hasPeople,
    needsRedirects,
  };
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

function redirectsOf(client: Client, redirectUris: readonly string[], report: Report): Entry {
  const { clientId, attributes, publicClient } = client;
  const declared = (attributes['post.logout.redirect.uris'] ?? '').split(separator);
  const logout = declared.filter((uri) => uri !== '-' && uri !== '+');
  const own = exact(client, logout, report);
  const logoutRedirectUris = [...new Set([...own, ...(declared.includes('+') ? redirectUris : [])])];
  if (attributes['frontchannel.logout.url'])
    report(`front-channel logout of application ${clientId}: has no counterpart`);
  const backchannelLogoutUri = attributes['backchannel.logout.url'];
  const isSessionRequired = attributes['backchannel.logout.session.required'] === 'true';
  const challenge = attributes['pkce.code.challenge.method'] ?? '';
  if (challenge === 'plain')
    report(`plain code challenges of application ${clientId}: it must send them as S256`);
  if (challenge === '' && publicClient)
    report(
      `sign-ins without PKCE of application ${clientId}: public applications must send a code challenge`,
    );
  return {
    redirectUris,
    ...(matchesAnyPort(client, redirectUris, report) && { loopbackPorts: 'any' }),
    ...(logoutRedirectUris.length > 0 && { logoutRedirectUris }),
    ...(challenge === '' && !publicClient && { pkce: 'optional' }),
    ...(backchannelLogoutUri && {
      backchannelLogoutUri,
      backchannelLogoutSessionRequired: isSessionRequired,
    }),
  };
}

/**
 * Keycloak lets every port in where a loopback redirect URI names none. Reports one that would let it in for others,
 * too.
 */
function matchesAnyPort({ clientId }: Client, redirectUris: readonly string[], report: Report): boolean {
  const loopback = redirectUris.filter(isLoopbackRedirect);
  const withPort = loopback.filter((uri) => /^[^/]*\/\/[^/?]*:\d+([/?]|$)/.test(uri));
  if (withPort.length === 0) return loopback.length > 0;
  if (withPort.length < loopback.length)
    report(
      `any port of loopback redirect URIs of application ${clientId}: ${withPort.join(', ')} has its own; declare loopbackPorts: any if it may have another`,
    );
  return false;
}

/** The URIs that stand for themselves, as absolute ones. Reports the others. */
function exact({ clientId, rootUrl }: Client, uris: readonly string[], report: Report): string[] {
  const found = uris.flatMap((uri) => {
    // Keycloak writes such ones.
    if (uri === '') return [];
    const absolute = uri.startsWith('/') ? `${rootUrl.replace(/\/$/, '')}${uri}` : uri;
    const problem = absolute.includes('*')
      ? 'wildcards are refused'
      : absolute.startsWith('/') || absolute.includes('${')
        ? 'its host is not in the file'
        : undefined;
    if (problem !== undefined) report(`redirect URI ${uri} of application ${clientId}: ${problem}`);
    return problem === undefined ? [absolute] : [];
  });
  return [...new Set(found)];
}

function scopesOf(client: Client, { realm, scopes }: Surroundings, hasPeople: boolean): string[] {
  const kept = scopesOfClient(client, realm).filter(
    (name) => scopes.has(name) || (hasPeople && builtInScopes.has(name)),
  );
  return [...new Set([...(hasPeople ? ['openid'] : []), ...kept])];
}
