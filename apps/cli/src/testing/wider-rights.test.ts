import { expect, it } from 'vitest';
import type { Node } from './values-in-export.ts';
import { widerRights, type ArrivedPerson } from './wider-rights.ts';

const client = {
  clientId: 'web',
  consentRequired: true,
  fullScopeAllowed: false,
  redirectUris: ['https://web.example/*'],
  defaultClientScopes: ['email'],
  attributes: { 'pkce.code.challenge.method': 'S256' },
};
const realm = (more: Node = {}, user: Node = {}): Node => ({
  realm: 'harbour',
  browserFlow: 'strict',
  authenticationFlows: [
    { alias: 'strict', authenticationExecutions: [{ flowAlias: 'forms', requirement: 'ALTERNATIVE' }] },
    {
      alias: 'forms',
      authenticationExecutions: [{ authenticator: 'auth-otp-form', requirement: 'REQUIRED' }],
    },
  ],
  roles: { realm: [{ name: 'clerk' }, { name: 'boss' }] },
  groups: [{ name: 'crew', subGroups: [{ name: 'deck', realmRoles: ['boss'] }] }],
  scopeMappings: [{ client: 'web', roles: ['clerk'] }],
  clients: [{ ...client, ...more }],
  users: [
    {
      username: 'Ada',
      enabled: true,
      realmRoles: ['clerk'],
      groups: ['/crew'],
      credentials: [{ type: 'password' }, { type: 'otp' }],
      ...user,
    },
  ],
});
const application: Node = {
  clientId: 'web',
  type: 'confidential',
  grantTypes: ['authorization_code', 'refresh_token'],
  redirectUris: ['https://web.example/cb'],
  scopes: ['openid', 'email'],
  roles: ['clerk'],
  thirdParty: true,
  authenticationPolicy: 'second-factor',
};
const person: ArrivedPerson = {
  username: 'ada',
  isActive: true,
  roles: ['clerk'],
  hasPassword: true,
  hasApp: true,
  passkeys: 0,
  links: [],
};

it('finds nothing where everything is as before', () => {
  expect(widerRights(realm(), { applications: [application], people: [person] })).toEqual([]);
});

it.each<[string, Node, Node?]>([
  ['is not disabled', {}, { enabled: false }],
  ['is public', { type: 'public' }],
  ['proves itself by a secret alone', {}, { clientAuthenticatorType: 'client-jwt' }],
  ['needs no code challenge', { pkce: 'optional' }],
  ['has the grant client_credentials', { grantTypes: ['client_credentials'], roles: undefined }],
  ['redirectUris has https://other.example/cb', { redirectUris: ['https://other.example/cb'] }],
  ['redirectUriPrefixes has https://web.example/a/', { redirectUriPrefixes: ['https://web.example/a/'] }],
  ['logoutRedirectUris has https://web.example/cb', { logoutRedirectUris: ['https://web.example/cb'] }],
  ['asks nobody', { thirdParty: undefined }],
  ['has the scope offline_access', { scopes: ['offline_access'] }],
  ['gets the scope phone without asking', { defaultScopes: ['phone'] }],
  ['has the audience orders', { audiences: ['orders'] }],
  ['has tokens that live longer', { lifetimes: { accessToken: 301 } }],
  ['has all roles of people', { roles: undefined }],
  ['has the role boss of people', { roles: ['boss'] }],
  ['needs no second factor', { authenticationPolicy: undefined }],
])('finds an application that %s', (what, change, ofClient = {}) => {
  const applications = [{ ...application, ...change }];
  expect(widerRights(realm(ofClient), { applications, people: [] })).toEqual([`web: ${what}`]);
});

it.each<[string, Partial<ArrivedPerson>, Node?]>([
  ['is active', {}, { enabled: false }],
  ['has the role boss', { roles: ['boss'] }],
  ['has a password', {}, { credentials: [{ type: 'otp' }] }],
  [
    'keeps a temporary password',
    {},
    { credentials: [{ type: 'password', temporary: true }, { type: 'otp' }] },
  ],
  ['keeps a password that is to be changed', {}, { requiredActions: ['UPDATE_PASSWORD'] }],
  ['has the password of a federation', {}, { federationLink: 'ldap' }],
  ['signs in without the second factor', { hasApp: false }],
  ['has an app', {}, { credentials: [{ type: 'password' }] }],
  ['has more passkeys', { passkeys: 1 }],
  ['need not verify the address', {}, { requiredActions: ['VERIFY_EMAIL'] }],
  ['signs in as google 7', { links: ['google 7'] }],
])('finds a person who %s', (what, change, user = {}) => {
  const people = [{ ...person, ...change }];
  expect(widerRights(realm({}, user), { applications: [], people })).toEqual([`user ada: ${what}`]);
});

it('takes roles of groups and of those above, and not of those below', () => {
  const people = [{ ...person, roles: ['clerk', 'boss'] }];
  expect(widerRights(realm({}, { groups: ['/crew/deck'] }), { applications: [], people })).toEqual([]);
});
