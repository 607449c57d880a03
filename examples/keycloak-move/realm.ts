/** The realm of four applications: what Keycloak's own guides make for each of them. */
import type { Administration } from '../keycloak/keycloak.ts';

export const realm = 'harbour';
/** Where the realm is, whoever serves it. */
export const address = 'http://localhost:19496';
export const issuer = `${address}/realms/${realm}`;

/** Secrets are long enough to be kept. */
export const secrets = {
  spring: 'secret-of-the-spring-application-not-for-production',
  proxy: 'secret-of-the-oauth2-proxy-not-for-production',
  corp: 'secret-at-the-provider-not-for-production',
};

/** Who signs in, and how. */
export interface Person {
  readonly username: string;
  readonly email: string;
  readonly password: string;
  /** The key of an authenticator app, as text; undefined without one. */
  readonly totp?: string;
  /** Registers a passkey at the first sign-in, and has no other way in from then on. */
  readonly hasPasskey?: true;
  /** Signs in at the provider of a company, with a password that they have there. */
  readonly isOfCorp?: true;
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

export const carol: Person = {
  username: 'carol',
  email: 'carol@harbour.example',
  password: 'carol keeps her passphrase',
  hasPasskey: true,
};

export const dora: Person = {
  username: 'dora',
  email: 'dora@acme.example',
  password: 'dora keeps her passphrase',
  isOfCorp: true,
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
    // Who is asked for consent has no roles in tokens otherwise.
    fullScopeAllowed: true,
    protocolMappers: [audienceMapper('harbour-proxy')],
  },
  { clientId: 'orders-api', bearerOnly: true },
];

/** Makes the realm. Dora has her account there from her first sign-in with the provider. */
export async function makeRealm({ send }: Administration, provider: object): Promise<void> {
  await send('POST', '', {
    realm,
    displayName: 'Harbour',
    enabled: true,
    identityProviders: [provider],
    webAuthnPolicyPasswordlessPasskeysEnabled: true,
    webAuthnPolicyPasswordlessRequireResidentKey: 'Yes',
    webAuthnPolicyPasswordlessUserVerificationRequirement: 'required',
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
      { ...userOf(carol), firstName: 'Carol', lastName: 'Jones' },
    ],
  });
}

function userOf({ username, email, password, totp, hasPasskey }: Person) {
  const key = totp && {
    type: 'otp',
    secretData: JSON.stringify({ value: totp }),
    credentialData: JSON.stringify({ subType: 'totp', digits: 6, period: 30, algorithm: 'HmacSHA1' }),
  };
  const credentials = [{ type: 'password', value: password }, ...(key ? [key] : [])];
  const requiredActions = hasPasskey === true ? ['webauthn-register-passwordless'] : [];
  // What people get by default, those of a file do not.
  const realmRoles = [`default-roles-${realm}`];
  return { username, email, emailVerified: true, enabled: true, credentials, requiredActions, realmRoles };
}
