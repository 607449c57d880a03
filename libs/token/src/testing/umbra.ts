import { Status } from '@tessera/proto-gen/directory';
import { redirectUri, verifier } from './fake-authorize.ts';
import { orders } from './declared-records.ts';
import { testKey } from './fake-keys.ts';
import { call, caller, credentialsOf, type World } from './world.ts';

/** The tenant `umbra` has an issuer of its own, and declares the audience of the orders API as `acme` does. */
export const umbraIssuer = 'https://login.umbra.example';
/** The caller of a request at that issuer. */
export const atUmbra = { ...caller, issuer: umbraIssuer, tenantId: 'umbra' };

/** Adds the tenant with its key, the application `umbra-web` and the user `gus`. */
export async function addUmbra({ directory, keys }: Pick<World, 'directory' | 'keys'>): Promise<void> {
  directory.addTenant('umbra', { issuer: umbraIssuer });
  const scopes = ['openid', 'offline_access'].map((name) => ({ name, audience: '' }));
  directory.addApplication('umbra-web', {
    tenantId: 'umbra',
    grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
    scopes: [...scopes, { name: 'orders.read', audience: orders }],
  });
  directory.addUser('gus', { tenantId: 'umbra' });
  keys.ofTenants.set('umbra', testKey('key-umbra'));
  await directory.changeTenant('umbra', Status.ACTIVE);
}

/** The token response for the application itself. */
export function umbraService(on: World) {
  const request = { grantType: 'client_credentials', scope: 'orders.read' };
  return on.token.exchange({ ...request, caller: atUmbra, credentials: credentialsOf('umbra-web') }, call());
}

/** The token response for a new code of `gus`. */
export function umbraSignIn(on: World) {
  const grant = { tenantId: 'umbra', clientId: 'umbra-web', userId: 'gus', issuer: umbraIssuer };
  const code = on.newCode({ ...grant, scopes: ['openid', 'offline_access', 'orders.read'] });
  const request = { grantType: 'authorization_code', code, codeVerifier: verifier, redirectUri };
  return on.token.exchange({ ...request, caller: atUmbra, credentials: credentialsOf('umbra-web') }, call());
}
