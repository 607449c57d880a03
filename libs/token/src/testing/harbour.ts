import { Status } from '@tessera/proto-gen/directory';
import type { FakeApplication } from '@tessera/directory-client/testing';
import type { ExchangeRequest } from '@tessera/proto-gen/token';
import { billing, orders } from './declared-records.ts';
import { redirectUri, verifier, type FakeGrant } from './fake-authorize.ts';
import { testKey } from './fake-keys.ts';
import { call, caller, credentialsOf, type World } from './world.ts';

/** The tenant `harbour` has an issuer as Keycloak's, and tokens as Keycloak's. */
export const harbourIssuer = 'https://id.example/realms/harbour';
/** The caller of a request at that issuer. */
export const atHarbour = { ...caller, issuer: harbourIssuer, tenantId: 'harbour' };

const identity = ['openid', 'profile', 'email', 'offline_access'].map((name) => ({ name, audience: '' }));
const ofApis = [
  { name: 'orders.read', audience: orders },
  { name: 'billing.read', audience: billing },
  { name: 'tokens.introspect', audience: '' },
];
const realmRoles = { name: 'realm_access.roles', path: ['realm_access', 'roles'], accessToken: true };

/** Adds the tenant with its key, the application `harbour-web` and the users `eva` and `finn`, who has no role. */
export async function addHarbour(
  { directory, keys }: Pick<World, 'directory' | 'keys'>,
  application: Partial<FakeApplication> = {},
): Promise<void> {
  directory.addTenant('harbour', { issuer: harbourIssuer, endpoints: 'keycloak' });
  directory.addApplication('harbour-web', {
    tenantId: 'harbour',
    grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
    scopes: [...identity, ...ofApis],
    defaultScopes: ['profile', 'email'],
    audiences: ['harbour-web', 'account'],
    claims: [realmRoles],
    ...application,
  });
  const standardClaims = { given_name: 'Eva', family_name: 'Lund', email_verified: true, locale: 'sv' };
  const eva = { username: 'eva.lund', name: 'Eva Lund', email: 'eva@harbour.example', standardClaims };
  directory.addUser('eva', { tenantId: 'harbour', roles: ['clerk'], ...eva });
  directory.addUser('finn', { tenantId: 'harbour' });
  keys.ofTenants.set('harbour', testKey('key-harbour'));
  await directory.changeTenant('harbour', Status.ACTIVE);
}

/** The token response for a request of `harbour-web`. */
export function atHarbourToken(on: World, request: Partial<ExchangeRequest>) {
  const { $typeName: _, $unknown: __, ...fields } = request;
  return on.token.exchange(
    { ...fields, caller: atHarbour, credentials: credentialsOf('harbour-web') },
    call(),
  );
}

/** The token response for a new code of `eva`. */
export function harbourSignIn(on: World, grant: Partial<FakeGrant> = {}) {
  const code = on.newCode({
    tenantId: 'harbour',
    clientId: 'harbour-web',
    userId: 'eva',
    issuer: harbourIssuer,
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    resource: '',
    ...grant,
  });
  return atHarbourToken(on, {
    grantType: 'authorization_code',
    code,
    codeVerifier: verifier,
    redirectUri,
  });
}
