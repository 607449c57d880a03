/** The provider of a company, another Tessera, with which people sign in to the realm. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandsOf, startTessera } from '../harness/tessera.ts';
import { dora, issuer, realm, secrets } from './realm.ts';

const folder = join(import.meta.dirname, '../../test-output/examples/keycloak-move');
/** Another host than the realm's, as cookies are not kept apart by ports. */
export const corpAddress = 'http://127.0.0.1:19505';
/** What the provider is called, there and here. */
export const corp = 'corp';

/** As what both servers are registered there. */
const registered = { clientId: 'harbour', clientSecret: secrets.corp };

/** Starts it, with dora. */
export async function startCorp(profile: string): Promise<{ stop(): Promise<void> }> {
  const tessera = await startTessera(corpAddress, profile);
  const { username, email, password } = dora;
  const application = {
    clientId: registered.clientId,
    name: 'Harbour',
    type: 'confidential',
    secrets: [{ value: registered.clientSecret }],
    grantTypes: ['authorization_code'],
    redirectUris: [`${issuer}/broker/${corp}/endpoint`, `${issuer}/login/provider/${realm}/${corp}`],
    scopes: ['openid', 'profile', 'email'],
  };
  const person = { username, email, emailVerified: true, givenName: 'Dora', familyName: 'Smith', password };
  try {
    apply(tessera.directory, 'acme', { users: [person], applications: [application] });
  } catch (error) {
    await tessera.stop();
    throw error;
  }
  return tessera;
}

/** The provider as an identity provider of Keycloak. */
export const corpInKeycloak = {
  alias: corp,
  displayName: 'Corp',
  providerId: 'oidc',
  enabled: true,
  trustEmail: true,
  config: {
    ...registered,
    issuer: corpAddress,
    authorizationUrl: `${corpAddress}/authorize`,
    tokenUrl: `${corpAddress}/token`,
    userInfoUrl: `${corpAddress}/userinfo`,
    jwksUrl: `${corpAddress}/.well-known/jwks.json`,
    useJwksUrl: 'true',
    validateSignature: 'true',
    clientAuthMethod: 'client_secret_basic',
    defaultScope: 'openid profile email',
    pkceEnabled: 'true',
    pkceMethod: 'S256',
  },
};

function apply(directory: string, id: string, records: object): void {
  const file = join(folder, `${id}.yaml`);
  writeFileSync(file, JSON.stringify({ owner: corp, tenants: [{ id, ...records }] }));
  commandsOf(directory)('apply', '--file', file);
}
