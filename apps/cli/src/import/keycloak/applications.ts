import { builtInScopes, isLoopbackRedirect } from '@tessera/oauth';
import type { Entry } from '../files/imported.ts';
import { claimsOf } from './claims.ts';
import { ownClients, type Client, type Realm, type Report } from './realm.ts';

interface Grants {
  readonly grantTypes: string[];
  /** Whether people sign in. */
  readonly hasPeople: boolean;
}

const separator = '##';

/** The clients of a realm as applications. Reports what of them is left out; `scopes` are those of its resources. */
export function applicationsOf(realm: Realm, scopes: ReadonlySet<string>, report: Report): Entry[] {
  const clients = realm.clients.filter(({ clientId }) => !ownClients.has(clientId));
  return clients.flatMap((client) => {
    const problem = reasonToLeaveOut(client);
    if (problem === undefined) return applicationOf(client, realm, scopes, report);
    report(`application ${client.clientId}: ${problem}`);
    return [];
  });
}

function reasonToLeaveOut(client: Client): string | undefined {
  if (client.protocol !== 'openid-connect') return `${client.protocol.toUpperCase()} has no counterpart`;
  if (client.bearerOnly)
    return 'an API is no application, but a resource with the scopes that name its audience';
  if (client.publicClient) return undefined;
  if (client.clientAuthenticatorType !== 'client-secret')
    return `${client.clientAuthenticatorType} instead of a secret has no counterpart`;
  return /^\**$/.test(client.secret) ? 'its secret is not in the file; export with kc.sh' : undefined;
}

function applicationOf(client: Client, realm: Realm, scopes: ReadonlySet<string>, report: Report): Entry[] {
  const { clientId, name, publicClient, enabled, secret, attributes } = client;
  const redirectUris = exact(client, client.redirectUris, report);
  const { grantTypes, hasPeople } = grantsOf(client, redirectUris, report);
  if (grantTypes.length === 0) {
    report(`application ${clientId}: no grant is left`);
    return [];
  }
  const hasCodes = grantTypes.includes('authorization_code');
  const lifespan = Number(attributes['access.token.lifespan'] ?? realm.accessTokenLifespan);
  return [
    {
      clientId,
      name: name === '' || name.startsWith('${') ? clientId : name,
      type: publicClient ? 'public' : 'confidential',
      ...(!enabled && { status: 'disabled' }),
      ...(hasPeople && client.consentRequired && { thirdParty: true }),
      grantTypes,
      ...(hasCodes && redirectsOf(client, redirectUris, report)),
      scopes: scopesOf(client, hasPeople, scopes),
      ...(lifespan > 0 && { lifetimes: { accessToken: lifespan } }),
      ...(hasPeople && { claims: claimsOf(client, realm, report) }),
      ...(!publicClient && { secrets: [{ value: secret }] }),
    },
  ];
}

function grantsOf(client: Client, redirectUris: readonly string[], report: Report): Grants {
  const { clientId, attributes, publicClient } = client;
  const isOn = (attribute: string) => attributes[attribute] === 'true';
  const hasCodes = client.standardFlowEnabled && redirectUris.length > 0;
  const hasDevices = isOn('oauth2.device.authorization.grant.enabled');
  const hasPeople = hasCodes || hasDevices;
  for (const [name, isUsed] of [
    ['sign-in by redirect, without any redirect URI,', client.standardFlowEnabled && !hasCodes],
    ['implicit flow', client.implicitFlowEnabled],
    ['password grant', client.directAccessGrantsEnabled],
    ['CIBA, which needs a way to approve,', isOn('oidc.ciba.grant.enabled')],
    ['token exchange', isOn('standard.token.exchange.enabled')],
    ['authorization services', client.authorizationServicesEnabled],
  ] as const)
    if (isUsed) report(`${name} of application ${clientId}: has no counterpart`);
  const grants = {
    authorization_code: hasCodes,
    refresh_token: hasPeople && attributes['use.refresh.tokens'] !== 'false',
    device_code: hasDevices,
    client_credentials: client.serviceAccountsEnabled && !publicClient,
  };
  return {
    grantTypes: Object.entries(grants).flatMap(([name, isGranted]) => (isGranted ? [name] : [])),
    hasPeople,
  };
}

function redirectsOf(client: Client, redirectUris: readonly string[], report: Report): Entry {
  const { clientId, attributes, publicClient } = client;
  const declared = (attributes['post.logout.redirect.uris'] ?? '').split(separator);
  const logout = declared.filter((uri) => uri !== '' && uri !== '-' && uri !== '+');
  const own = exact(client, logout, report);
  const logoutRedirectUris = [...new Set([...own, ...(declared.includes('+') ? redirectUris : [])])];
  if (attributes['frontchannel.logout.url'])
    report(`front-channel logout of application ${clientId}: has no counterpart`);
  const backchannelLogoutUri = attributes['backchannel.logout.url'];
  const isWithoutPkce = attributes['pkce.code.challenge.method'] !== 'S256';
  if (isWithoutPkce && publicClient)
    report(
      `sign-ins without PKCE of application ${clientId}: public applications must send a code challenge`,
    );
  return {
    redirectUris,
    ...(matchesAnyPort(client, redirectUris, report) && { loopbackPorts: 'any' }),
    ...(logoutRedirectUris.length > 0 && { logoutRedirectUris }),
    ...(isWithoutPkce && !publicClient && { pkce: 'optional' }),
    ...(backchannelLogoutUri && {
      backchannelLogoutUri,
      backchannelLogoutSessionRequired: attributes['backchannel.logout.session.required'] === 'true',
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

function scopesOf(client: Client, hasPeople: boolean, scopes: ReadonlySet<string>): string[] {
  const assigned = [...client.defaultClientScopes, ...client.optionalClientScopes];
  const kept = assigned.filter((name) => scopes.has(name) || (hasPeople && builtInScopes.has(name)));
  return [...new Set([...(hasPeople ? ['openid'] : []), ...kept])];
}
