import type { endings } from '@tessera/directory';

type Kind = keyof typeof endings;
type Keys = Readonly<Record<string, unknown>>;

/** Two values of each field that can change, as the declared state has them; `ID` is that of the tenant. */
export const changedValues: {
  readonly [K in Kind]: {
    readonly [F in Exclude<keyof (typeof endings)[K], 'owner' | 'deleted'>]: readonly [Keys, Keys];
  };
} = {
  tenant: {
    name: [{ name: 'One' }, { name: 'Two' }],
    status: [{ status: 'active' }, { status: 'disabled' }],
    issuer: [{}, { issuer: 'https://ID.own.example' }],
    endpoints: [{ endpoints: 'standard' }, { endpoints: 'keycloak' }],
    authenticationPolicy: [{}, { authenticationPolicy: 'second-factor' }],
    passkeyDomain: [{}, { passkeyDomain: 'shared' }],
    registration: [{ registration: 'open' }, { registration: 'closed' }],
    registrationDomains: [{ registrationDomains: ['acme.example'] }, {}],
    accountClosing: [{}, { accountClosing: true }],
    signInMethods: [{}, { signInMethods: ['mail-code-second'] }],
    looks: [{}, { looks: { tosUri: 'https://acme.example/terms' } }],
  },
  user: {
    username: [{ username: 'ada' }, { username: 'Ada' }],
    email: [{ email: 'ada@acme.example' }, { email: 'ada@other.example' }],
    name: [{ name: 'Ada' }, { name: 'Ada L.' }],
    phoneNumber: [{ phoneNumber: '+46701234567' }, {}],
    attributes: [{ attributes: { team: 'engines' } }, {}],
    standardClaims: [{ givenName: 'Ada' }, {}],
    roles: [{ roles: ['clerk'] }, { roles: ['manager'] }],
    status: [{ status: 'active' }, { status: 'locked' }],
    passwordHash: [{ passwordHash: hashOf('aa') }, { passwordHash: hashOf('bb') }],
    declaredIdentities: [{}, { identities: [{ provider: 'corp', subject: 'ada' }] }],
    declaredPasskeys: [{}, { passkeys: [passkeyOf('one')] }],
    declaredTotp: [{ totp: { secret: 'JBSWY3DPEHPK3PXP' } }, { totp: { secret: 'KRSXG5DPEHPK3PXP' } }],
  },
  application: {
    name: [{ name: 'Web' }, { name: 'Site' }],
    description: [{}, { description: 'Shows orders' }],
    descriptions: [{}, { descriptions: { de: 'Zeigt Bestellungen' } }],
    publisher: [{}, { publisher: 'Acme' }],
    homepage: [{}, { homepage: 'https://acme.example/' }],
    type: [{}, { type: 'public', secrets: [] }],
    status: [{ status: 'active' }, { status: 'disabled' }],
    grantTypes: [{}, { grantTypes: ['authorization_code', 'device_code'] }],
    redirectUris: [{}, { redirectUris: ['http://127.0.0.1:1/other'] }],
    loopbackPorts: [{}, { loopbackPorts: 'any' }],
    logoutRedirectUris: [{}, { logoutRedirectUris: ['https://acme.example/'] }],
    redirectUriPrefixes: [{}, { redirectUriPrefixes: ['https://acme.example/app/'] }],
    logoutRedirectUriPrefixes: [{}, { logoutRedirectUriPrefixes: ['https://acme.example/app/'] }],
    scopes: [{}, { scopes: ['openid', 'profile'] }],
    defaultScopes: [{ defaultScopes: ['openid'] }, {}],
    audiences: [{}, { audiences: ['account'] }],
    introspectAudiences: [{ introspectAudiences: ['https://ID.api.example'] }, {}],
    lifetimes: [{}, { lifetimes: { accessToken: '5m', refreshTokenIdle: '5m' } }],
    ciba: [{ ciba: { approval: 'page' } }, {}],
    authenticatedStart: [{}, { authenticatedStart: 'required' }],
    allowedRoles: [{}, { allowedRoles: ['manager'] }],
    roles: [{}, { roles: ['manager'] }],
    pkce: [{}, { pkce: 'optional' }],
    backchannelLogoutUri: [{}, { backchannelLogoutUri: 'https://acme.example/logout' }],
    backchannelLogoutSessionRequired: [
      { backchannelLogoutUri: 'https://acme.example/logout' },
      { backchannelLogoutUri: 'https://acme.example/logout', backchannelLogoutSessionRequired: true },
    ],
    claims: [{ claims: { groups: { roles: true, targets: ['idToken'] } } }, {}],
    idTokenClaims: [{ idTokenClaims: ['profile'] }, {}],
    owners: [{}, { owners: ['orders'] }],
    thirdParty: [{}, { thirdParty: true }],
    authenticationPolicy: [{}, { authenticationPolicy: 'phishing-resistant' }],
    publicKeys: [{}, { publicKeys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] }],
    jwksUri: [{}, { jwksUri: 'https://acme.example/jwks.json' }],
    trusts: [{}, { trusts: [{ issuer: 'https://ci.example', subject: 'ID' }] }],
    idTokenSigningAlgorithm: [{}, { idTokenSigningAlgorithm: 'ES256' }],
    secrets: [{}, { secrets: [{ value: 'another secret of the application, which is long' }] }],
  },
  provider: {
    preset: [{}, { preset: 'okta' }],
    issuer: [{}, { issuer: 'https://other.example' }],
    clientId: [{}, { clientId: 'other' }],
    displayName: [{ displayName: 'Corp' }, { displayName: 'Company' }],
    scopes: [{}, { scopes: ['openid'] }],
    domains: [{ domains: ['corp.example'] }, {}],
    linking: [{ linking: 'verified-email' }, {}],
    createsAccounts: [{ createsAccounts: true }, {}],
    roleMappings: [{ roleMappings: [{ claim: 'groups', value: 'a', role: 'clerk' }] }, {}],
    attributeMappings: [{ attributeMappings: { team: 'team' } }, {}],
    trustsFactors: [{ trustsFactors: true }, {}],
    signsOut: [{}, { signsOut: true }],
    sealedSecret: [{}, { clientSecret: 'another secret' }],
  },
  resource: {
    name: [{ name: 'Orders' }, { name: 'All orders' }],
    shared: [{ shared: true }, {}],
    assignableBy: [{}, { assignableBy: 'tenant' }],
    scopes: [{}, { scopes: ['orders.read'] }],
    tokenType: [{}, { tokenType: 'JWT' }],
    scopeFormat: [{}, { scopeFormat: 'string' }],
    signingAlgorithm: [{}, { signingAlgorithm: 'ES256' }],
    roles: [{}, { roles: ['manager'] }],
  },
  role: {},
};

/** The record of each kind whose field changes. Ada holds a role that an application beside it asks for. */
const changingRecords = {
  tenant: { id: 'ID', endpoints: 'keycloak', name: 'One' },
  user: { username: 'ada', roles: ['clerk'] },
  application: {
    clientId: 'ID-changing',
    name: 'Web',
    type: 'confidential',
    secrets: [{ value: 'a secret of the application, which is long' }],
    grantTypes: ['authorization_code', 'device_code', 'ciba', 'refresh_token'],
    redirectUris: ['http://127.0.0.1:1/callback'],
    scopes: ['openid', 'profile', 'offline_access'],
  },
  provider: { name: 'corp', issuer: 'https://corp.example', clientId: 'tessera', clientSecret: 'a secret' },
  resource: { audience: 'https://ID.api.example', name: 'Orders', scopes: ['orders.read', 'orders.write'] },
  role: 'spare',
} as const satisfies Readonly<Record<Kind, Keys | string>>;

/** A passkey, of which no authenticator has the other key. */
function passkeyOf(credentialId: string): Keys {
  const zeros = Buffer.alloc(32);
  const parts = [Buffer.from('a5010203262001215820', 'hex'), zeros, Buffer.from('225820', 'hex'), zeros];
  const publicKey = Buffer.concat(parts).toString('base64url');
  return { credentialId, publicKey, userHandle: 'YWRh', rpId: 'own.example' };
}

/** PHC string of a password; the salt makes it another one. */
export function hashOf(salt: string): string {
  return `$argon2id$v=19$m=19456,t=2,p=1$${salt}ucOpNWRxd1nT4aj381VM$K/16Bwhd94IYHs14QwtJQFSkR2vCFIfosQqsn7wqCp4`;
}

/** A document that differs from another one in one field, or lacks the record. */
export function changedDocument(
  tenantId: string,
  change: { readonly kind: Kind; readonly field: string; readonly value: 0 | 1 },
  beside: { readonly users: readonly Keys[]; readonly applications: readonly Keys[] },
): string {
  const { kind, field, value } = change;
  const values = changedValues[kind] as Readonly<Record<string, readonly [Keys, Keys]>>;
  const isLeftOut = field === 'deleted' && value === 1;
  const recordOf = (of: Exclude<Kind, 'tenant' | 'role'>): Keys[] => {
    if (of !== kind) return [changingRecords[of]];
    return isLeftOut ? [] : [{ ...changingRecords[of], ...values[field]?.[value] }];
  };
  const tenant = {
    ...changingRecords.tenant,
    ...(kind === 'tenant' && values[field]?.[value]),
    resources: recordOf('resource'),
    roles: ['clerk', 'manager', ...(kind === 'role' && isLeftOut ? [] : [changingRecords.role])],
    providers: recordOf('provider'),
    users: [...recordOf('user'), ...beside.users],
    applications: [...recordOf('application'), ...beside.applications],
  };
  // YAML includes JSON.
  return JSON.stringify({ tenants: [tenant] }).replaceAll('ID', tenantId);
}
