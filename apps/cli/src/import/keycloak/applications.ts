import { builtInScopes, isLoopbackRedirect } from '@tessera/oauth';
import type { Entry } from '../files/imported.ts';
import { claimsOf, reportMappers } from './claims.ts';
import { ownClients, scopesOfClient, type Client, type Realm, type Report } from './realm.ts';
import { narrowedBy, type Choices } from './restrictions.ts';
import { noRoles, roleScopeOf } from './role-scope.ts';
import type { Roles } from './roles.ts';
import { secretsOf } from './imported-secrets.ts';
import type { SignInFlows } from './sign-in-flows.ts';
import { prefixOf } from './wildcards.ts';

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
  const { uris: redirectUris, prefixes } = urisOf(client, client.redirectUris, surroundings, report);
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
  const redirects = redirectsOf(
    client,
    { uris: redirectUris, prefixes },
    surroundings,
    hasCodes || needsRedirects ? report : () => undefined,
  );
  const toDo = [...(needsRedirects ? [withoutRedirects] : []), ...secrets.reasons, ...narrowed.reasons];
  for (const reason of toDo) report(`application ${clientId}: comes disabled: ${reason}`);
  if (roles?.includes(noRoles) === true)
    report(
      `roles of application ${clientId}: its tokens had none; it has ${noRoles} alone, which nobody has`,
    );
  if (grantTypes.includes('client_credentials') && !scopes.some((scope) => known.has(scope)))
    report(`application ${clientId}: gets no tokens by itself: none of its scopes names an audience`);
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
      ...(hasPeople && roles !== undefined && { roles }),
      lifetimes: lifetimesOf(client, realm),
      ...(hasPeople && { claims: claimsOf(client, surroundings, report) }),
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

/** In seconds. Refresh tokens here are those of Keycloak's offline sessions. */
function lifetimesOf({ attributes }: Client, realm: Realm): Entry {
  const first = (...values: readonly (string | number | undefined)[]) =>
    values.map(Number).find((value) => value > 0);
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
    Object.entries({ accessToken, refreshTokenIdle, refreshTokenAbsolute }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

function redirectsOf(
  client: Client,
  { uris: redirectUris, prefixes }: Uris,
  choices: Choices,
  report: Report,
): Entry {
  const { clientId, attributes, publicClient } = client;
  const declared = (attributes['post.logout.redirect.uris'] ?? '').split(separator);
  const logout = declared.filter((uri) => uri !== '-' && uri !== '+');
  const own = urisOf(client, logout, choices, report);
  const isSame = declared.includes('+');
  const logoutRedirectUris = [...new Set([...own.uris, ...(isSame ? redirectUris : [])])];
  const logoutPrefixes = [...new Set([...own.prefixes, ...(isSame ? prefixes : [])])];
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
    ...(prefixes.length > 0 && { redirectUriPrefixes: prefixes }),
    ...(logoutRedirectUris.length > 0 && { logoutRedirectUris }),
    ...(logoutPrefixes.length > 0 && { logoutRedirectUriPrefixes: logoutPrefixes }),
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

interface Uris {
  readonly uris: readonly string[];
  readonly prefixes: readonly string[];
}

/**
 * The URIs that stand for themselves, as absolute ones, and the beginnings of those with a wildcard if they are kept.
 * Reports both others and beginnings.
 */
function urisOf(client: Client, uris: readonly string[], { keepsWildcards }: Choices, report: Report): Uris {
  const { clientId, rootUrl } = client;
  const prefixes = new Set<string>();
  const found = uris.flatMap((uri) => {
    // Keycloak writes such ones.
    if (uri === '') return [];
    const absolute = uri.startsWith('/') ? `${rootUrl.replace(/\/$/, '')}${uri}` : uri;
    const prefix = keepsWildcards === true ? prefixOf(client, absolute) : undefined;
    if (prefix !== undefined) {
      prefixes.add(prefix);
      report(
        `redirect URI ${uri} of application ${clientId}: what begins so matches, with endpoints: keycloak`,
      );
      // Without the slash it matches in Keycloak, too.
      return [prefix.slice(0, -1)];
    }
    const problem = absolute.includes('*')
      ? 'wildcards are refused'
      : absolute.startsWith('/') || absolute.includes('${')
        ? 'its host is not in the file'
        : undefined;
    if (problem !== undefined) report(`redirect URI ${uri} of application ${clientId}: ${problem}`);
    return problem === undefined ? [absolute] : [];
  });
  return { uris: [...new Set(found)], prefixes: [...prefixes] };
}

function scopesOf(client: Client, { realm, scopes }: Surroundings, hasPeople: boolean): string[] {
  const kept = scopesOfClient(client, realm).filter(
    (name) => scopes.has(name) || (hasPeople && builtInScopes.has(name)),
  );
  return [...new Set([...(hasPeople ? ['openid'] : []), ...kept])];
}
