import fc from 'fast-check';

const uri = fc.constantFrom(
  'https://web.example/cb',
  'https://web.example/*',
  '*',
  '/cb',
  '/*',
  'http://web.example/cb',
  'http://localhost:3000/cb',
  'http://localhost/cb',
  'com.example.app:/cb',
  '${url}/cb',
  '',
);
const isOn = fc.constantFrom('true', 'false', '');
const ofRealm = fc.subarray(['clerk', 'boss', 'chief', 'web:edit']);
const ofClients = fc.record(
  { web: fc.subarray(['edit', 'read']), api: fc.subarray(['write']) },
  { requiredKeys: [] },
);
const mappings = fc.array(
  fc.record({
    client: fc.constantFrom('web', 'api', 'tv'),
    roles: ofRealm,
  }),
  { maxLength: 2 },
);

const client = fc.record(
  {
    clientId: fc.constantFrom('web', 'api', 'tv'),
    enabled: fc.boolean(),
    publicClient: fc.boolean(),
    bearerOnly: fc.boolean(),
    standardFlowEnabled: fc.boolean(),
    implicitFlowEnabled: fc.boolean(),
    directAccessGrantsEnabled: fc.boolean(),
    serviceAccountsEnabled: fc.boolean(),
    consentRequired: fc.boolean(),
    fullScopeAllowed: fc.boolean(),
    secret: fc.constantFrom('short', '**********', 's'.repeat(32)),
    clientAuthenticatorType: fc.constantFrom('client-secret', 'client-jwt', 'client-x509'),
    rootUrl: fc.constantFrom('', 'https://root.example', '${authBaseUrl}'),
    redirectUris: fc.array(uri, { maxLength: 4 }),
    defaultClientScopes: fc.subarray(['email', 'profile', 'roles', 'orders', 'plain']),
    authenticationFlowBindingOverrides: fc.record({ browser: fc.constantFrom('strict-id', 'browser-id') }),
    attributes: fc.record(
      {
        'oauth2.device.authorization.grant.enabled': isOn,
        'oidc.ciba.grant.enabled': isOn,
        'use.refresh.tokens': isOn,
        'dpop.bound.access.tokens': isOn,
        'require.pushed.authorization.requests': isOn,
        'pkce.code.challenge.method': fc.constantFrom('S256', 'plain', ''),
        'default.acr.values': fc.constantFrom('gold', ''),
        'post.logout.redirect.uris': fc.constantFrom('+', '-', 'https://web.example/*##+'),
        'access.token.lifespan': fc.constantFrom('60', ''),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['clientId'] },
);

const credential = fc.oneof(
  fc.record(
    { type: fc.constant('password'), value: fc.constant('correct horse battery'), temporary: fc.boolean() },
    { requiredKeys: ['type', 'value'] },
  ),
  fc.record({ type: fc.constantFrom('hotp', 'webauthn', 'recovery-authn-codes', 'password-history') }),
  fc.constant({
    type: 'otp',
    secretData: '{"value":"a secret of twenty b"}',
    credentialData: '{"subType":"totp","digits":6,"period":30,"algorithm":"HmacSHA1"}',
  }),
);
const user = fc.record(
  {
    username: fc.constantFrom('ada', 'bob', 'eve'),
    enabled: fc.boolean(),
    emailVerified: fc.boolean(),
    credentials: fc.array(credential, { maxLength: 3 }),
    requiredActions: fc.subarray(['UPDATE_PASSWORD', 'VERIFY_EMAIL', 'CONFIGURE_TOTP']),
    federationLink: fc.constantFrom('ldap', ''),
    realmRoles: ofRealm,
    clientRoles: ofClients,
    groups: fc.subarray(['/crew', '/crew/deck', '/shore']),
  },
  { requiredKeys: ['username'] },
);
const group = fc.record({ realmRoles: ofRealm, clientRoles: ofClients }, { requiredKeys: [] });

const strict = {
  id: 'strict-id',
  alias: 'strict',
  authenticationExecutions: [
    { authenticator: 'auth-username-password-form', requirement: 'REQUIRED' },
    { authenticator: 'auth-otp-form', requirement: 'REQUIRED' },
  ],
};
const browser = {
  id: 'browser-id',
  alias: 'browser',
  authenticationExecutions: [{ authenticator: 'auth-username-password-form', requirement: 'REQUIRED' }],
};
const orders = {
  name: 'orders',
  protocolMappers: [
    { protocolMapper: 'oidc-audience-mapper', config: { 'included.custom.audience': 'urn:orders' } },
  ],
};
const ofEverybody = {
  name: 'roles',
  protocolMappers: [{ protocolMapper: 'oidc-audience-resolve-mapper', config: {} }],
};

/** A realm with what gives rights, and what takes them away. */
export const generatedRealm = fc
  .record(
    {
      enabled: fc.boolean(),
      verifyEmail: fc.boolean(),
      browserFlow: fc.constantFrom('browser', 'strict', 'unknown'),
      accessTokenLifespan: fc.constantFrom(60, 3600),
      clients: fc.uniqueArray(client, { selector: ({ clientId }) => clientId, minLength: 1 }),
      users: fc.uniqueArray(user, { selector: ({ username }) => username }),
      scopeMappings: mappings,
      composites: fc.record({ realm: ofRealm, client: ofClients }),
      crew: group,
      deck: group,
      shore: group,
    },
    { requiredKeys: ['clients', 'users', 'composites', 'crew', 'deck', 'shore'] },
  )
  .map(({ composites, crew, deck, shore, users, ...rest }) => ({
    realm: 'Harbour Co',
    ...rest,
    users: users.map((each) => ({ ...each, email: `${each.username}@harbour.example` })),
    groups: [
      { name: 'crew', ...crew, subGroups: [{ name: 'deck', ...deck }] },
      { name: 'shore', ...shore },
    ],
    roles: {
      // One has the name that a role of a client gets.
      realm: [{ name: 'clerk' }, { name: 'boss' }, { name: 'chief', composites }, { name: 'web:edit' }],
      client: {
        web: [{ name: 'edit' }, { name: 'read', composites: { realm: ['clerk'] } }],
        api: [{ name: 'write' }],
      },
    },
    authenticationFlows: [strict, browser],
    clientScopes: [orders, ofEverybody],
  }));
