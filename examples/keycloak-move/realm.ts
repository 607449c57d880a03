/** The realm of four applications: what Keycloak's own guides make for each of them. */
import type { Administration } from '../keycloak/keycloak.ts';

export const realm = 'harbour';

/** Secrets are long enough to be kept. */
export const secrets = {
  spring: 'secret-of-the-spring-application-not-for-production',
  proxy: 'secret-of-the-oauth2-proxy-not-for-production',
};

/** Who signs in, and how. */
export interface Person {
  readonly username: string;
  readonly email: string;
  readonly password: string;
  /** The key of an authenticator app, as text; undefined without one. */
  readonly totp?: string;
}

export const ada: Person = {
  username: 'ada',
  email: 'ada@harbour.example',
  password: 'ada keeps her passphrase',
};

export const bob: Person = {
  username: 'bob',
  email: 'bob@harbour.example',
  password: 'bob keeps his passphrase',
  totp: 'a key of bob that he has in his app',
};

const groupMapper = {
  name: 'groups',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-group-membership-mapper',
  config: { 'claim.name': 'groups', 'full.path': 'true', 'access.token.claim': 'true' },
};

const audienceMapper = (audience: string) => ({
  name: `audience ${audience}`,
  protocol: 'openid-connect',
  protocolMapper: 'oidc-audience-mapper',
  config: { 'included.client.audience': audience, 'access.token.claim': 'true', 'id.token.claim': 'false' },
});

const clients = [
  {
    clientId: 'harbour-spring',
    secret: secrets.spring,
    redirectUris: ['http://localhost:19501/login/oauth2/code/keycloak'],
    attributes: { 'post.logout.redirect.uris': 'http://localhost:19501/bye' },
  },
  {
    clientId: 'harbour-spa',
    publicClient: true,
    redirectUris: ['http://localhost:19502/*'],
    webOrigins: ['+'],
    attributes: { 'post.logout.redirect.uris': '+', 'pkce.code.challenge.method': 'S256' },
    protocolMappers: [audienceMapper('orders-api'), groupMapper],
  },
  {
    clientId: 'harbour-proxy',
    secret: secrets.proxy,
    redirectUris: ['http://localhost:19503/oauth2/callback'],
    consentRequired: true,
    protocolMappers: [audienceMapper('harbour-proxy')],
  },
  { clientId: 'orders-api', bearerOnly: true },
];

/** Makes the realm. */
export async function makeRealm({ send }: Administration): Promise<void> {
  await send('POST', '', {
    realm,
    displayName: 'Harbour',
    enabled: true,
    roles: { realm: [{ name: 'clerk' }], client: { 'orders-api': [{ name: 'approve' }] } },
    groups: [{ name: 'Staff', subGroups: [{ name: 'Accounts', realmRoles: ['clerk'] }] }],
    clients: clients.map((client) => ({
      protocol: 'openid-connect',
      enabled: true,
      publicClient: false,
      standardFlowEnabled: true,
      directAccessGrantsEnabled: false,
      ...client,
    })),
    users: [
      {
        ...userOf(ada),
        firstName: 'Ada',
        lastName: 'Lovelace',
        groups: ['/Staff/Accounts'],
        clientRoles: { 'orders-api': ['approve'] },
      },
      { ...userOf(bob), firstName: 'Bob', lastName: 'Smith' },
    ],
  });
}

function userOf({ username, email, password, totp }: Person) {
  const key = totp && {
    type: 'otp',
    secretData: JSON.stringify({ value: totp }),
    credentialData: JSON.stringify({ subType: 'totp', digits: 6, period: 30, algorithm: 'HmacSHA1' }),
  };
  const credentials = [{ type: 'password', value: password }, ...(key ? [key] : [])];
  return { username, email, emailVerified: true, enabled: true, credentials };
}
