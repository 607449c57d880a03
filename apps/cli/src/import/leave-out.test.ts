import { describe, expect, it } from 'vitest';
import type { ImportedRecords } from './files/imported.ts';
import { leavingOutPasskeys } from './leave-out-names.ts';
import { leaveOut, leaveOutShared } from './leave-out.ts';

function records(): ImportedRecords {
  return {
    resources: [],
    roles: ['clerk', ''],
    users: [
      {
        username: 'ada',
        email: 'nowhere',
        emailVerified: true,
        attributes: { 'cost.center': ' 7', team: 'sea' },
        roles: ['clerk', 'boss', 'king'],
      },
      { username: '', email: 'bob@acme.example' },
    ],
    applications: [
      { clientId: 'web', name: 'Web', grantTypes: ['ciba'], redirectUris: ['x', 'y', 'z'], secrets: [] },
      { clientId: 'tv', grantTypes: ['device_code'] },
    ],
  };
}

describe('what the declared state refuses', () => {
  it('is left out by key, entry of a list, attribute or record, with a line that has no value', () => {
    const given = records();
    const lines = leaveOut(given, [
      { key: 'tenants[0].users[0].email', message: 'must be an e-mail address' },
      { key: 'tenants[0].users[0].attributes.cost.center', message: 'must not begin with a space' },
      { key: 'tenants[0].users[0].roles[1]', message: 'is not a role of the tenant' },
      { key: 'tenants[0].users[0].roles[2]', message: 'is not a role of the tenant' },
      { key: 'tenants[0].users[1].username', message: 'must have at least 1 character' },
      { key: 'tenants[0].roles[1]', message: 'must have at least 1 character' },
      { key: 'tenants[0].applications[0].redirectUris[1]', message: 'must be a URL' },
      { key: 'tenants[0].applications[1].name', message: 'is required' },
      { key: 'tenants[0].applications[1].type', message: 'is required' },
    ]);
    expect(lines).toEqual([
      'email of user ada: must be an e-mail address',
      'attributes.cost.center of user ada: must not begin with a space',
      'roles[1] of user ada: is not a role of the tenant',
      'roles[2] of user ada: is not a role of the tenant',
      'user number 2: username must have at least 1 character',
      'role number 2: must have at least 1 character',
      'redirectUris[1] of application web: must be a URL',
      'application tv: name is required',
    ]);
    expect(given).toEqual({
      resources: [],
      roles: ['clerk'],
      users: [{ username: 'ada', attributes: { team: 'sea' }, roles: ['clerk'] }],
      applications: [
        { clientId: 'web', name: 'Web', grantTypes: ['ciba'], redirectUris: ['x', 'z'], secrets: [] },
      ],
    });
  });

  it('is the record once what it cannot do without is gone', () => {
    const given = records();
    leaveOut(given, [{ key: 'tenants[0].applications[0].grantTypes[0]', message: 'is no grant' }]);
    expect(
      leaveOut(given, [{ key: 'tenants[0].applications[0].grantTypes', message: 'must have one' }]),
    ).toEqual(['application web: grantTypes must have one']);
    expect(given.applications).toHaveLength(1);
  });

  it.each([
    ['users[0]', 'status', 'ausgeschieden', 'user ada'],
    ['applications[0]', 'status', 'Disabled', 'application web'],
    ['applications[0]', 'allowedRoles', ['clerk', ''], 'application web'],
    ['applications[0]', 'authenticationPolicy', 'strong', 'application web'],
    ['applications[0]', 'thirdParty', 'yes', 'application web'],
    ['applications[0]', 'pkce', 'always', 'application web'],
    ['applications[0]', 'authenticatedStart', 'always', 'application web'],
    ['applications[0]', 'roles', 'clerk', 'application web'],
  ])('is the record if it restricts it: %s.%s', (record, key, value, name) => {
    const given = records();
    const [list, index] = [record.slice(0, -3) as 'users' | 'applications', 0];
    const entry = given[list][index] ?? {};
    entry[key] = value;
    const path = Array.isArray(value) ? `${key}[1]` : key;
    const lines = leaveOut(given, [
      { key: `tenants[0].${record}.${path}`, message: 'must be another value' },
    ]);
    expect(lines).toEqual([`${name}: ${path} must be another value`]);
    expect(given[list]).not.toContain(entry);
  });

  it('is a part of what a record says, whatever its name is', () => {
    const claims = {
      roles: { roles: true, rolePrefix: 'x' },
      status: { attribute: 'team' },
      team: { attribute: 'team' },
    };
    const lifetimes = { accessToken: 172_800, refreshTokenIdle: 60 };
    const given = {
      ...records(),
      applications: [{ clientId: 'web', claims, lifetimes, roles: ['clerk', 'x'] }],
    };
    leaveOut(given, [
      { key: 'tenants[0].applications[0].claims.roles.rolePrefix', message: 'is too long' },
      { key: 'tenants[0].applications[0].claims.status', message: 'is the third claim of its source' },
      { key: 'tenants[0].applications[0].lifetimes.accessToken', message: 'must be at most 1d' },
      { key: 'tenants[0].applications[0].roles[1]', message: 'is not a role of the tenant' },
    ]);
    expect(given.applications).toEqual([
      {
        clientId: 'web',
        claims: { team: { attribute: 'team' } },
        lifetimes: { refreshTokenIdle: 60 },
        roles: ['clerk'],
      },
    ]);
  });

  it('may have line breaks in its name', () => {
    const given = records();
    const [ada] = given.users;
    Object.assign(ada?.['attributes'] ?? {}, { 'two\nlines': 'x', 'two\u2028more': 'x' });
    const lines = leaveOut(given, [
      { key: 'tenants[0].users[0].attributes.two\nlines', message: 'is no name' },
      { key: 'tenants[0].users[0].attributes.two\u2028more', message: 'is no name' },
    ]);
    expect(lines).toHaveLength(2);
    expect(ada).toHaveProperty('attributes', { 'cost.center': ' 7', team: 'sea' });
  });

  it('may be more than a call has arguments', () => {
    const roles = Array.from({ length: 200_000 }, (_, index) => `role-${index}`);
    const given = { ...records(), roles };
    leaveOut(given, [{ key: 'tenants[0].roles[0]', message: 'is too long' }]);
    expect(given.roles).toHaveLength(199_999);
  });

  it('is nothing if it concerns the tenant or the document', () => {
    for (const key of ['tenants[0].name', ''])
      expect(leaveOut(records(), [{ key, message: 'is required' }])).toBeUndefined();
  });
});

it('what two people share stays with the first, and the second goes only for a user name', () => {
  const users = [
    { username: 'ada', email: 'Ada@acme.example' },
    { username: 'bob', email: 'ada@ACME.example', emailVerified: true, phoneNumber: '+46701234567' },
    { username: 'ADA', email: 'other@acme.example' },
    { username: 'carol@acme.example', email: 'carol@acme.example', phoneNumber: '+46701234567' },
  ];
  expect(leaveOutShared({ users })).toEqual([
    'email of user bob: is taken by another person',
    'user ADA: the user name is taken by another person',
    'phoneNumber of user carol@acme.example: is taken by another person',
  ]);
  expect(users).toEqual([
    { username: 'ada', email: 'Ada@acme.example' },
    { username: 'bob', phoneNumber: '+46701234567' },
    { username: 'carol@acme.example', email: 'carol@acme.example' },
  ]);
});

it.each([
  [undefined, ['1 passkeys: need a tenant with an issuer of its own']],
  ['login.example', ['1 passkeys: are of another host than login.example']],
])('passkeys that no page of the tenant could use are left out, for the host %s', (host, lines) => {
  const leaving = leavingOutPasskeys(host);
  const user = { username: 'ada', passkeys: [{ credentialId: 'a', rpId: 'sso.example' }] };
  leaving.of([user]);
  expect([user, leaving.lines()]).toEqual([{ username: 'ada' }, lines]);
});
