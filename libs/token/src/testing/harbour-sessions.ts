import { eventually } from '@tessera/test-kit';
import { ApplicationType, Status } from '@tessera/proto-gen/directory';
import type { ExchangeRequest } from '@tessera/proto-gen/token';
import { redirectUri, verifier, type FakeGrant } from './fake-authorize.ts';
import { orders } from './declared-records.ts';
import { testKey } from './fake-keys.ts';
import { call, caller, credentialsOf, world, type WorldOptions } from './world.ts';

export const harbourIssuer = 'https://sso.example/realms/harbour';
/** The caller of a request at that issuer. */
export const atHarbour = { ...caller, issuer: harbourIssuer, tenantId: 'harbour' };

/** What the application `shop` has. */
export const shop = {
  tenantId: 'harbour',
  grantTypes: ['authorization_code', 'refresh_token', 'device_code', 'ciba'],
  scopes: [
    { name: 'openid', audience: '' },
    { name: 'offline_access', audience: '' },
    { name: 'orders.read', audience: orders },
  ],
};

/**
 * A world with the tenant `harbour`, which has the endpoints of Keycloak. Its people have `shop`, which is public, and
 * `desk`; a service has `stock`, and `till` gets no refresh tokens.
 */
export async function harbourWorld(options: WorldOptions = {}) {
  const on = await world(options);
  const { directory, keys } = on;
  directory.addTenant('harbour', { issuer: harbourIssuer, endpoints: 'keycloak' });
  directory.addApplication('shop', { ...shop, type: ApplicationType.PUBLIC });
  directory.addApplication('desk', shop);
  directory.addApplication('till', { ...shop, grantTypes: ['authorization_code'] });
  directory.addApplication('stock', { ...shop, grantTypes: ['client_credentials', 'refresh_token'] });
  directory.addUser('mo', { tenantId: 'harbour' });
  keys.ofTenants.set('harbour', testKey('key-harbour'));
  await directory.changeTenant('harbour', Status.ACTIVE);

  const credentials = (clientId: string) =>
    clientId === 'shop' ? credentialsOf(clientId, '') : credentialsOf(clientId);
  const ask = async (
    clientId: string,
    request: Partial<Omit<ExchangeRequest, '$typeName' | '$unknown' | 'caller' | 'credentials'>>,
  ) => on.token.exchange({ ...request, caller: atHarbour, credentials: credentials(clientId) }, call());
  const grantOf = (grant: Partial<FakeGrant> = {}) => ({
    tenantId: 'harbour',
    clientId: 'shop',
    userId: 'mo',
    issuer: harbourIssuer,
    scopes: ['openid', 'orders.read'],
    ...grant,
  });
  const signIn = async (grant: Partial<FakeGrant> = {}) => {
    const code = on.newCode(grantOf(grant));
    const request = { grantType: 'authorization_code', code, codeVerifier: verifier, redirectUri };
    return ask(grant.clientId ?? 'shop', request);
  };
  return {
    ...on,
    ask,
    grantOf,
    credentials,
    /** The token response for a new code, by default of the public application without `offline_access`. */
    signIn,
    refresh: async (refreshToken: string, clientId = 'shop') =>
      ask(clientId, { grantType: 'refresh_token', refreshToken }),
    /** Declares by what paths the endpoints of the tenant are found. */
    async changeEndpoints(endpoints: 'keycloak' | 'standard'): Promise<void> {
      directory.addTenant('harbour', { issuer: harbourIssuer, endpoints });
      await directory.changeTenant('harbour', Status.ACTIVE);
      await eventually('the list of issuers is read again', async () => {
        const { refreshExpiresIn } = await signIn({ scopes: ['openid', 'offline_access'] });
        return refreshExpiresIn > 0 === (endpoints === 'keycloak');
      });
    },
    introspect: async (token: string) => on.introspection.introspect({ token, caller: atHarbour }, call()),
  };
}
