import { describe, expect, it } from 'vitest';
import { client, mapper, moved, type Part } from '../../testing/moved-realm.ts';
import { CommandError } from '../../terminal.ts';
import { importedRealm } from './imported-realm.ts';

describe('a realm', () => {
  it('is a tenant by its name in the letters of a slug, with an owner of its own', () => {
    expect(moved({})).toMatchObject({
      tenant: 'harbour-co',
      tenantName: 'Harbour Co',
      owner: 'keycloak:harbour-co',
      leftOut: [],
    });
    expect(moved({ displayName: 'Harbour' }).tenantName).toBe('Harbour');
  });

  it('comes in one file or in several of one realm; anything else is refused without its content', () => {
    const users = { realm: 'Harbour Co', users: [{ username: 'ada' }] };
    const both = (second: unknown) =>
      importedRealm([
        { name: 'a', text: JSON.stringify({ realm: 'Harbour Co', clients: [client] }) },
        { name: 'b', text: JSON.stringify(second) },
      ]);
    expect([...both(users).records.users]).toMatchObject([{ username: 'ada' }]);
    expect(() => both({ ...users, realm: 'other' })).toThrow('The files are of several realms.');
    const noExport = 'x.json is no export of a realm of Keycloak';
    for (const [text, message] of [
      ['{"secret', 'x.json is not JSON, so it is no export of a realm of Keycloak.'],
      [
        `{"realm":"r","x":${'['.repeat(3000)}${']'.repeat(3000)}}`,
        'x.json has more than 200 levels of lists and objects, at position 218.',
      ],
      ['[]', `${noExport}.`],
      ['{"realm": {}}', `${noExport} (realm).`],
      ['[{"username": "ada"}]', `${noExport} (realm).`],
    ] as const)
      expect(() => importedRealm([{ name: 'x.json', text }])).toThrow(new CommandError(message));
    expect(() => importedRealm([{ name: 'x', text: '{"realm":"r"}' }])).toThrow('No file has the clients');
  });

  it('is one of several in a file only if it is named', () => {
    const realms = ['one', 'two'].map((realm) => ({
      realm,
      clients: [client],
      users: [{ username: realm }],
    }));
    const files = [{ name: 'x.json', text: JSON.stringify(realms) }];
    expect(() => importedRealm(files)).toThrow(
      new CommandError('The files are of several realms. Choose one with --realm: one, two.'),
    );
    const { tenant, records } = importedRealm(files, { realm: 'two' });
    expect([tenant, [...records.users].map(({ username }) => username)]).toEqual(['two', ['two']]);
    expect(() => importedRealm(files, { realm: 'three' })).toThrow('The files have no realm three');
    expect(() => importedRealm([...files, ...files], { realm: 'two' })).toThrow('have the realm twice');
  });

  it('is read as Keycloak reads it: null is absent, one text is a list, and texts are numbers and truth values', () => {
    const { records, leftOut } = moved({
      displayName: null,
      accessTokenLifespan: '600',
      users: [
        { username: 'ada', enabled: 'true', email: null, attributes: { phone: '123', desks: [1, null] } },
        { username: 'bob', enabled: true, attributes: null, credentials: null, groups: null },
        { email: 'carol@acme.example', enabled: true },
        { enabled: true },
      ],
    });
    expect(records.users).toMatchObject([
      { username: 'ada', attributes: { phone: '123', desks: '1' } },
      { username: 'bob', attributes: {} },
      { username: 'carol@acme.example', email: 'carol@acme.example' },
    ]);
    expect(records.users.map(({ status }) => status)).toEqual([undefined, undefined, undefined]);
    expect(records.applications[0]).toMatchObject({ lifetimes: { accessToken: 600 } });
    expect(leftOut).toContain('user number 4: has no user name');
  });

  it('gives the tenant its name without spaces around it, which Keycloak takes', () => {
    expect(moved({ displayName: ' Harbour ' }).tenantName).toBe('Harbour');
    expect(moved({ displayName: '  ' }).tenantName).toBe('Harbour Co');
  });

  it('that is disabled brings everybody and everything disabled', () => {
    const { records, leftOut } = moved({ enabled: false, users: [{ username: 'ada', enabled: true }] });
    expect([...records.users, ...records.applications].map(({ status }) => status)).toEqual([
      'disabled',
      'disabled',
    ]);
    expect(leftOut).toContain('realm: is disabled, so its people and applications come disabled');
  });

  it('leaves identity providers and user federations out', () => {
    const { leftOut } = moved({
      identityProviders: [{ alias: 'github' }],
      components: { 'org.keycloak.storage.UserStorageProvider': [{ name: 'ldap' }] },
    });
    expect(leftOut).toEqual([
      'identity provider github: has no counterpart',
      'user federation ldap: has no counterpart; its people are not in the file',
    ]);
  });
});

describe('roles', () => {
  const realm = {
    defaultRole: { name: 'default-roles-harbour co' },
    roles: {
      realm: [
        { name: 'clerk' },
        { name: 'manager', composites: { realm: ['clerk'], client: { web: ['approve'] } } },
        { name: 'guest' },
        { name: 'default-roles-harbour co', composites: { realm: ['offline_access', 'guest'] } },
        { name: 'offline_access' },
      ],
      client: { web: [{ name: 'approve' }], account: [{ name: 'view-profile' }] },
    },
    groups: [
      {
        name: 'Staff',
        realmRoles: ['clerk'],
        subGroups: [{ name: 'Accounts', clientRoles: { web: ['approve'] } }],
      },
    ],
  };

  it('of clients have their names, and people have those of groups and composite roles one by one', () => {
    const { records, leftOut } = moved({
      ...realm,
      users: [
        { username: 'ada', groups: ['/Staff/Accounts'], credentials: [] },
        { username: 'bob', realmRoles: ['manager', 'default-roles-harbour co'] },
        { username: 'carol', clientRoles: { web: ['approve'], account: ['view-profile'] } },
        { username: 'dora' },
      ],
    });
    expect(records.roles).toEqual(['clerk', 'manager', 'guest', 'web:approve']);
    expect(records.users.map(({ roles }) => roles)).toEqual([
      ['clerk', 'web:approve'],
      ['clerk', 'manager', 'guest', 'web:approve'],
      ['web:approve'],
      [],
    ]);
    expect(leftOut.filter((line) => !line.startsWith('password'))).toEqual([
      'composition of role manager: people who have it get clerk, web:approve one by one',
      'group /Staff: has no counterpart; its members get its roles one by one',
      'group /Staff/Accounts: has no counterpart; its members get its roles one by one',
    ]);
  });

  it('that are composed of built-in roles promise none of them', () => {
    const boss = { name: 'boss', composites: { realm: ['clerk', 'tessera.administrator'] } };
    const auditor = { name: 'auditor', composites: { realm: ['tessera.auditor'] } };
    const { leftOut } = moved({ roles: { realm: [{ name: 'clerk' }, boss, auditor] } });
    expect(leftOut).toEqual(['composition of role boss: people who have it get clerk one by one']);
  });

  it('whose names would be one are the first of them alone, and nobody gets it by the second', () => {
    const { records, leftOut } = moved({
      roles: {
        realm: [
          { name: 'shop:admin' },
          { name: 'clerk' },
          { name: 'boss', composites: { client: { shop: ['admin'] } } },
        ],
        client: {
          shop: [{ name: 'admin', composites: { realm: ['clerk'] } }],
          a: [{ name: 'b:c' }],
          'a:b': [{ name: 'c' }],
        },
      },
      groups: [{ name: 'Staff', clientRoles: { shop: ['admin'] } }],
      users: [
        { username: 'ada', realmRoles: ['shop:admin'] },
        { username: 'bob', clientRoles: { shop: ['admin'], 'a:b': ['c'] }, groups: ['/Staff'] },
        { username: 'carol', realmRoles: ['boss'], clientRoles: { a: ['b:c'] } },
      ],
    });
    expect(records.roles).toEqual(['shop:admin', 'clerk', 'boss', 'a:b:c']);
    expect(records.users.map(({ roles }) => roles)).toEqual([['shop:admin'], [], ['boss', 'a:b:c']]);
    expect(leftOut.filter((line) => line.includes('role '))).toEqual([
      'role shop:admin of client shop: two roles would have this name; nobody has this one',
      'role a:b:c of client a:b: two roles would have this name; nobody has this one',
    ]);
  });

  /** The processor time, in microseconds, for so many clients whose tokens have the roles of each. */
  function costOf(count: number): number {
    const ids = Array.from({ length: count }, (_, index) => `api-${index}`);
    const ofClient = mapper('oidc-usermodel-client-role-mapper', {
      'access.token.claim': true,
      'claim.name': '${client_id}',
    });
    const realm = {
      roles: { client: Object.fromEntries(ids.map((of) => [of, [{ name: 'x' }]])) },
      clients: ids.map((clientId) => ({ ...client, clientId, protocolMappers: [ofClient] })),
    };
    const before = process.threadCpuUsage();
    const { records } = moved(realm);
    const { user, system } = process.threadCpuUsage(before);
    expect(Object.keys(records.applications.at(-1)?.['claims'] ?? {})).toContain(`api-${count - 1}`);
    return user + system;
  }

  it('of thousands of clients are read once, and not again for each client', { timeout: 240_000 }, () => {
    costOf(500);
    const few = costOf(500);
    // Eight times as many take about eight times as long, and 64 times if each is read for each.
    expect(costOf(4000)).toBeLessThan(few * 24);
  });

  it('of a service account are left out with it', () => {
    const robot = { username: 'service-account-web', serviceAccountClientId: 'web', realmRoles: ['clerk'] };
    const { records, leftOut } = moved({ ...realm, groups: [], users: [robot] });
    expect(records.users).toEqual([]);
    expect(leftOut).toContain('roles clerk of application web: applications have none');
  });
});

describe('client scopes', () => {
  it('with an audience are scopes of the resource of this audience; others are left out', () => {
    const audience = (name: string) => mapper('oidc-audience-mapper', { 'included.custom.audience': name });
    const { records, leftOut } = moved({
      clientScopes: [
        { name: 'orders.read', description: 'Read', protocolMappers: [audience('urn:orders')] },
        { name: 'orders.write', protocolMappers: [audience('urn:orders'), audience('urn:other')] },
        { name: 'plain' },
        { name: 'roles' },
      ],
      clients: [
        {
          ...client,
          defaultClientScopes: ['email', 'roles', 'plain'],
          optionalClientScopes: ['orders.read'],
        },
      ],
    });
    expect(records.resources).toEqual([
      {
        audience: 'urn:orders',
        name: 'urn:orders',
        scopes: [{ name: 'orders.read', description: 'Read' }, { name: 'orders.write' }],
        scopeFormat: 'string',
      },
    ]);
    expect(records.applications[0]?.['scopes']).toEqual(['openid', 'email', 'orders.read']);
    expect(leftOut).toEqual([
      'audience urn:other of scope orders.write: only applications that always get the scope have it, too',
      'client scope plain: it names no audience, to which a scope belongs',
    ]);
  });
});

describe('clients without scopes of their own', () => {
  const scopesOf = (part: Part) => {
    const { clientId, secret, redirectUris } = client;
    const { records } = moved({ ...part, clients: [{ clientId, secret, redirectUris }] });
    return records.applications[0]?.['scopes'];
  };

  it('have those of Keycloak, or those that the realm gives', () => {
    expect(scopesOf({})).toEqual(['openid', 'profile', 'email', 'phone', 'address', 'offline_access']);
    expect(scopesOf({ clientScopes: [{ name: 'email' }] })).toEqual(['openid']);
    const given = { defaultDefaultClientScopes: ['email'], defaultOptionalClientScopes: ['phone'] };
    expect(scopesOf({ ...given, clientScopes: [{ name: 'email' }] })).toEqual(['openid', 'email']);
    expect(scopesOf(given)).toEqual(['openid', 'email', 'phone']);
  });
});

describe('mappers that somebody added to the scopes of every realm', () => {
  it('are claims, and those that were there are none', () => {
    const targets = { 'id.token.claim': 'true' };
    const { records, leftOut } = moved({
      clients: [{ ...client, defaultClientScopes: ['roles', 'profile'] }],
      clientScopes: [
        {
          name: 'roles',
          protocolMappers: [
            mapper('oidc-usermodel-realm-role-mapper', { ...targets, 'claim.name': 'roles' }),
            mapper('oidc-usermodel-realm-role-mapper', { ...targets, 'claim.name': 'realm_access.roles' }),
            mapper('oidc-audience-resolve-mapper', {}),
          ],
        },
        {
          name: 'profile',
          protocolMappers: [
            mapper('oidc-full-name-mapper', targets),
            mapper('oidc-usermodel-attribute-mapper', {
              ...targets,
              'user.attribute': 'team',
              'claim.name': 'team',
            }),
            mapper('oidc-usermodel-property-mapper', { ...targets, 'claim.name': 'given_name' }),
            mapper('script-team.js', { ...targets, 'claim.name': 'score' }),
          ],
        },
      ],
    });
    expect(records.applications[0]?.['claims']).toMatchObject({
      roles: { roles: true, targets: ['idToken'] },
      'realm_access.roles': { roles: true, path: ['realm_access', 'roles'] },
      team: { attribute: 'team', targets: ['idToken'] },
    });
    expect(leftOut).toEqual(['mapper m of application web: script-team.js has no counterpart']);
  });
});
