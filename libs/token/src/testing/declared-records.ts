import { ApplicationType } from '@tessera/proto-gen/directory';
import { FakeDirectory, type FakeApplication, type FakeUser } from '@tessera/directory-client/testing';

export const orders = 'https://orders.acme.example';
export const billing = 'https://billing.acme.example';
/** Its access tokens have the `typ` `JWT` and `scope` as one text. */
export const stock = 'https://stock.acme.example';

/** Its access tokens are signed with ES256. */
export const parcels = 'https://parcels.acme.example';

/** Its algorithm is of a newer version. */
export const labels = 'https://labels.acme.example';

const scope = (name: string, audience = '') => ({ name, audience });
const inTheirShape = { audience: stock, tokenType: 'JWT', scopeFormat: 'string' };
const identity = ['openid', 'profile', 'email', 'phone', 'offline_access'].map((name) => scope(name));
const ordersScopes = [scope('orders.read', orders), scope('orders.write', orders)];
const everyGrant = ['authorization_code', 'client_credentials', 'refresh_token', 'device_code', 'ciba'];

const applications: (Partial<FakeApplication> & { clientId: string })[] = [
  { clientId: 'web', grantTypes: everyGrant, scopes: [...identity, ...ordersScopes] },
  { clientId: 'other', grantTypes: everyGrant, scopes: [...identity, ...ordersScopes] },
  {
    clientId: 'spa',
    type: ApplicationType.PUBLIC,
    grantTypes: everyGrant,
    scopes: [...identity, ...ordersScopes],
  },
  {
    clientId: 'service',
    grantTypes: ['client_credentials'],
    scopes: [...ordersScopes, scope('billing.read', billing)],
  },
  {
    clientId: 'workload',
    grantTypes: ['client_credentials', 'jwt_bearer'],
    scopes: ordersScopes,
  },
  {
    clientId: 'stock-app',
    grantTypes: everyGrant,
    scopes: [
      ...identity,
      { name: 'stock.read', ...inTheirShape },
      { name: 'stock.write', ...inTheirShape },
      ...ordersScopes,
    ],
  },
  {
    clientId: 'parcels-app',
    grantTypes: everyGrant,
    scopes: [
      ...identity,
      { name: 'parcels.read', audience: parcels, signingAlgorithm: 'ES256' },
      { name: 'labels.read', audience: labels, signingAlgorithm: 'ML-DSA-44' },
      ...ordersScopes,
    ],
  },
  { clientId: 'no-refresh', grantTypes: ['authorization_code'], scopes: [...identity, ...ordersScopes] },
  { clientId: 'introspecting', grantTypes: ['client_credentials'], scopes: [scope('tokens.introspect')] },
  { clientId: 'orders-api', grantTypes: [], scopes: [], introspectAudiences: [orders] },
  {
    clientId: 'globex-web',
    tenantId: 'globex',
    grantTypes: everyGrant,
    scopes: identity,
    introspectAudiences: [orders],
  },
];

const users: (Partial<FakeUser> & { userId: string })[] = [
  {
    userId: 'ada',
    name: 'Ada Lovelace',
    email: 'ada@acme.example',
    phoneNumber: '+46701234567',
    roles: ['clerk'],
  },
  { userId: 'bob' },
];

/** A directory with two tenants and the applications and users of the tests. */
export function populatedDirectory(): FakeDirectory {
  const directory = new FakeDirectory('token');
  for (const tenantId of ['acme', 'globex']) directory.addTenant(tenantId);
  for (const { clientId, ...fields } of applications) directory.addApplication(clientId, fields);
  for (const { userId, ...fields } of users) directory.addUser(userId, fields);
  return directory;
}
