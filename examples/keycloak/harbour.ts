/** The realm of the example: what a realm of a small company has, and what cannot move. */
import type { Administration } from './keycloak.ts';

export const realm = 'harbour';

const audience = 'https://orders.harbour.example';

const mapper = (name: string, type: string, config: Readonly<Record<string, string>>) => ({
  name,
  protocol: 'openid-connect',
  protocolMapper: type,
  config: { 'access.token.claim': 'true', 'id.token.claim': 'false', ...config },
});

const ordersScope = {
  name: 'orders.read',
  description: 'Read orders',
  protocol: 'openid-connect',
  attributes: { 'include.in.token.scope': 'true' },
  protocolMappers: [mapper('orders', 'oidc-audience-mapper', { 'included.custom.audience': audience })],
};

const web = {
  clientId: 'harbour-web',
  name: 'Harbour',
  publicClient: false,
  secret: 'secret-of-the-example-not-for-production',
  standardFlowEnabled: true,
  directAccessGrantsEnabled: true,
  rootUrl: 'https://harbour.example',
  redirectUris: ['/callback', 'https://old.harbour.example/*'],
  attributes: {
    'post.logout.redirect.uris': 'https://harbour.example/',
    'backchannel.logout.url': 'https://harbour.example/logout',
    'access.token.lifespan': '600',
  },
  protocolMappers: [
    mapper('department', 'oidc-usermodel-attribute-mapper', {
      'user.attribute': 'department',
      'claim.name': 'department',
      'id.token.claim': 'true',
      'userinfo.token.claim': 'true',
    }),
    mapper('fleet', 'oidc-hardcoded-claim-mapper', { 'claim.name': 'fleet', 'claim.value': 'north' }),
  ],
  defaultClientScopes: ['web-origins', 'acr', 'roles', 'profile', 'basic', 'email'],
  optionalClientScopes: ['offline_access', 'orders.read'],
};

const clients = [
  web,
  {
    clientId: 'harbour-tv',
    publicClient: true,
    standardFlowEnabled: true,
    implicitFlowEnabled: true,
    redirectUris: ['http://localhost:19499/callback'],
    attributes: { 'oauth2.device.authorization.grant.enabled': 'true' },
  },
  {
    clientId: 'harbour-worker',
    publicClient: false,
    secret: 'another-secret-of-the-example-not-for-production',
    standardFlowEnabled: false,
    serviceAccountsEnabled: true,
    optionalClientScopes: ['orders.read'],
  },
  { clientId: 'harbour-short', publicClient: false, secret: 'short', redirectUris: ['https://s.example/cb'] },
  { clientId: 'harbour-wiki', protocol: 'saml', redirectUris: ['https://wiki.harbour.example/*'] },
  { clientId: 'orders-api', publicClient: false, bearerOnly: true },
];

const people = [
  {
    policy: 'hashAlgorithm(pbkdf2-sha256)',
    user: {
      username: 'ada',
      email: 'ada@harbour.example',
      emailVerified: true,
      firstName: 'Ada',
      lastName: 'Lovelace',
      attributes: { department: ['Engines'], phoneNumber: ['+46701234567'] },
      groups: ['/Staff/Accounts'],
      password: 'ada keeps her passphrase',
    },
  },
  {
    policy: 'hashAlgorithm(pbkdf2-sha512)',
    user: {
      username: 'bob',
      email: 'bob@harbour.example',
      firstName: 'Bob',
      lastName: 'Smith',
      realmRoles: ['manager'],
      password: 'bob keeps his passphrase',
      federatedIdentities: [{ identityProvider: 'github', userId: '42', userName: 'bob' }],
      otp: 'JBSWY3DPEHPK3PXP',
    },
  },
  {
    policy: 'hashAlgorithm(argon2)',
    user: {
      username: 'carol',
      email: 'carol@harbour.example',
      clientRoles: { 'orders-api': ['approve'] },
      password: 'carol keeps her passphrase',
    },
  },
];

/** The people of the realm who have a password, which is in no export, and the secret of the app of who has one. */
export const passwords = people.map(({ user: { username, password, otp } }) => ({ username, password, otp }));

/** Makes the realm. Passwords are hashed as the policy says that is in force when their person is made. */
export async function makeHarbour({ send }: Administration): Promise<void> {
  await send('POST', '', { realm, displayName: 'Harbour', enabled: true, registrationAllowed: true });
  await send('PUT', `/${realm}/users/profile`, { unmanagedAttributePolicy: 'ENABLED', ...profile });
  await send('POST', `/${realm}/client-scopes`, ordersScope);
  const imported = (part: object) =>
    send('POST', `/${realm}/partialImport`, { ifResourceExists: 'FAIL', ...part });
  await imported({
    clients: clients.map((client) => ({ protocol: 'openid-connect', enabled: true, ...client })),
    identityProviders: [
      {
        alias: 'github',
        providerId: 'github',
        enabled: true,
        config: { clientId: 'harbour', clientSecret: 'secret-at-github' },
      },
    ],
  });
  await imported({
    roles: {
      realm: [
        { name: 'clerk' },
        {
          name: 'manager',
          composite: true,
          composites: { realm: ['clerk'], client: { 'orders-api': ['approve'] } },
        },
      ],
      client: { 'orders-api': [{ name: 'approve' }] },
    },
  });
  await imported({
    groups: [
      {
        name: 'Staff',
        path: '/Staff',
        realmRoles: ['clerk'],
        subGroups: [
          { name: 'Accounts', path: '/Staff/Accounts', clientRoles: { 'orders-api': ['approve'] } },
        ],
      },
    ],
  });
  for (const { policy, user } of people) {
    const { password, otp, ...rest } = { otp: undefined, ...user };
    await send('PUT', `/${realm}`, { passwordPolicy: policy });
    const credentials = [{ type: 'password', value: password }, ...(otp === undefined ? [] : [totp(otp)])];
    await imported({ users: [{ enabled: true, credentials, ...rest }] });
  }
  await imported({ users: [{ username: 'dora', enabled: false, email: 'dora@harbour.example' }] });
}

/** Names and addresses may be absent. */
const profile = {
  attributes: ['username', 'email', 'firstName', 'lastName'].map((name) => ({
    name,
    permissions: { view: ['admin', 'user'], edit: ['admin', 'user'] },
  })),
};

function totp(value: string) {
  return {
    type: 'otp',
    secretData: JSON.stringify({ value }),
    credentialData: JSON.stringify({ subType: 'totp', digits: 6, period: 30, algorithm: 'HmacSHA1' }),
  };
}
