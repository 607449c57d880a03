import { describe, expect, it } from 'vitest';
import { client, mapper, moved, movedClient, type Part } from '../../../testing/moved-realm.ts';

const audience = (name: string, more: Part = {}) =>
  mapper('oidc-audience-mapper', {
    'included.client.audience': name,
    'access.token.claim': 'true',
    'id.token.claim': 'false',
    ...more,
  });
const resolve = mapper('oidc-audience-resolve-mapper', {});
const scope = (name: string, ...protocolMappers: Part[]) => ({ name, protocolMappers });

const ofRealm = {
  clientScopes: [
    scope('profile'),
    scope('email'),
    scope('phone'),
    scope('offline_access'),
    scope('roles', resolve),
    scope('orders.read', audience('orders'), audience('stock')),
    scope('orders.write', audience('orders')),
  ],
};

/** What a client with these scopes has of them. */
function given(part: Part, more: Part = {}) {
  const { application = {}, leftOut } = movedClient(part, {}, { ...ofRealm, ...more });
  const { scopes, defaultScopes, audiences, idTokenClaims } = application;
  return { scopes, defaultScopes, audiences, idTokenClaims, leftOut };
}

describe('clients', () => {
  it('always get their default client scopes, whose claims are in ID tokens too', () => {
    const part = { defaultClientScopes: ['email', 'orders.read'], optionalClientScopes: ['phone'] };
    expect(given(part)).toMatchObject({
      scopes: ['openid', 'email', 'orders.read', 'phone'],
      defaultScopes: ['email', 'orders.read'],
      idTokenClaims: ['email', 'phone'],
    });
  });

  it('without lists of their own always get what the realm gives, or Keycloak', () => {
    const none = { defaultClientScopes: undefined, optionalClientScopes: undefined };
    const lists = { defaultDefaultClientScopes: ['profile'], defaultOptionalClientScopes: ['email'] };
    expect(given(none, lists)).toMatchObject({
      scopes: ['openid', 'profile', 'email'],
      defaultScopes: ['profile'],
    });
    expect(movedClient(none).application).toMatchObject({
      scopes: ['openid', 'profile', 'email', 'phone', 'address', 'offline_access'],
      defaultScopes: ['profile', 'email'],
      audiences: ['account'],
      claims: {
        'realm_access.roles': { roles: true, targets: ['accessToken'], path: ['realm_access', 'roles'] },
      },
    });
  });

  it('must ask for refresh tokens from now on, and say so', () => {
    const { defaultScopes, leftOut } = given({ defaultClientScopes: ['offline_access', 'email'] });
    expect(defaultScopes).toEqual(['email']);
    expect(leftOut).toContain('offline_access of application web: is given only if it asks for it');
  });

  it('that are services always get scopes of APIs, and claims of all roles, which nobody has', () => {
    const { application } = movedClient(
      {
        standardFlowEnabled: false,
        serviceAccountsEnabled: true,
        defaultClientScopes: ['email', 'orders.read'],
        protocolMappers: [
          mapper('oidc-usermodel-realm-role-mapper', {
            'access.token.claim': 'true',
            'claim.name': 'realm_access.roles',
          }),
          mapper('oidc-usermodel-attribute-mapper', {
            'access.token.claim': 'true',
            'claim.name': 'team',
            'user.attribute': 'team',
          }),
        ],
      },
      {},
      ofRealm,
    );
    expect(application).toMatchObject({ scopes: ['orders.read'], defaultScopes: ['orders.read'] });
    expect(Object.keys(application?.['claims'] ?? {})).toEqual(['realm_access.roles']);
  });

  it('have the audiences of their own mappers, and of the scopes that they always get', () => {
    const part = {
      protocolMappers: [
        audience('web', { 'id.token.claim': 'true' }),
        audience('', { 'included.custom.audience': 'https://mail.example' }),
        audience('nowhere', { 'access.token.claim': 'false' }),
      ],
      defaultClientScopes: ['orders.read'],
      optionalClientScopes: ['roles'],
    };
    const { audiences, leftOut } = given(part);
    expect(audiences).toEqual(['web', 'https://mail.example', 'stock']);
    expect(leftOut).toEqual([
      'audience stock of scope orders.read: only applications that always get the scope have it, too',
    ]);
  });

  it('have no other audience in ID tokens, and say so', () => {
    const { audiences, leftOut } = given({
      protocolMappers: [audience('api', { 'id.token.claim': 'true' })],
    });
    expect(audiences).toEqual(['api']);
    expect(leftOut).toContain('audience api of ID tokens of application web: they are for itself alone');
  });

  it('have the audience account where their tokens have all roles', () => {
    const roles = { defaultClientScopes: ['roles'] };
    expect(given(roles).audiences).toEqual(['account']);
    expect(given({ ...roles, fullScopeAllowed: false }).audiences).toBeUndefined();
    expect(given({ defaultClientScopes: ['email'] }).audiences).toBeUndefined();
  });

  it('have as audiences the other clients of which a person has a role', () => {
    const roles = {
      client: { web: [{ name: 'own' }], api: [{ name: 'x' }], 'a:b': [{ name: 'y' }], a: [{ name: 'z' }] },
    };
    const part = { defaultClientScopes: ['roles'], fullScopeAllowed: false };
    expect(given(part, { roles }).audiences).toEqual(['api:*', 'a:b:*']);
    const many = {
      client: Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`c${at}`, [{ name: 'x' }]])),
    };
    const { audiences, leftOut } = given({ defaultClientScopes: ['roles'] }, { roles: many });
    expect(audiences).toHaveLength(20);
    expect(leftOut).toContain('audiences of application web: roles of 6 more clients add none');
  });
});

it('a realm makes a tenant with the paths and the tokens of Keycloak', () => {
  expect(moved({ clients: [client] }).tenantKeys).toEqual({ endpoints: 'keycloak' });
});
