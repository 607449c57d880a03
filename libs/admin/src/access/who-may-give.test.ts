import { adminRoles, adminScopes } from '@tessera/oauth';
import { ApplicationSchema, ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { ResourceSchema, ResourcesService } from '@tessera/proto-gen/admin-resources';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UserSchema, UsersService } from '@tessera/proto-gen/admin-users';
import { Code, ConnectError, create, type DescMethod, type Principal } from '@tessera/rpc';
import { describe, expect, it } from 'vitest';
import { carrying } from './who-may-give.ts';

const holding = (scopes: readonly string[], everyTenant = false): Principal => ({
  kind: 'client',
  id: 'robot',
  tenantId: 'acme',
  everyTenant,
  scopes,
  owners: ['*'],
});
/** As an application with these scopes and `owners`. */
const bound = (
  owners: readonly string[],
  scopes: readonly string[] = [...adminScopes.keys()],
): Principal => ({
  ...holding(scopes),
  owners,
});
const everything = holding([...adminScopes.keys()], true);

type Fields = Readonly<Record<string, unknown>>;

/** Carries out requests, on a record if they are about one, and keeps what is sent. */
function carriedOut(method: DescMethod, present: Fields = {}, aborts = 0) {
  const sent: Fields[] = [];
  const read: Fields[] = [];
  const asked: string[] = [];
  const assigned: string[] = [];
  const carry = carrying(method, {
    async send(request) {
      sent.push(request);
      const changes = sent.filter(({ validateOnly }) => validateOnly !== true);
      if (request['validateOnly'] !== true && changes.length <= aborts)
        throw new ConnectError('changed', Code.Aborted);
      const etag = (present as { etag?: string }).etag || 'restored';
      return request['validateOnly'] === true ? { ...present, etag } : {};
    },
    async read(request) {
      read.push(request);
      return { ...present, owner: (present as { owner?: string }).owner || 'api', etag: `v${read.length}` };
    },
    attributesInClaims: async (tenantId) => {
      asked.push(tenantId);
      return new Set(tenantId === 'acme' ? ['pay'] : []);
    },
    issuerOf: async (tenantId) => (tenantId === 'acme' ? '' : 'https://login.globex.example'),
    async assignablesOf(tenantId, given) {
      assigned.push([tenantId, ...given].join(' '));
      const ofStock = new Map([
        ['scope stock.read', ['orders']],
        ['audience https://stock.example', []],
        ['audience orders', []],
        ['role packer', []],
      ]);
      return (kind, name) => {
        const assignableBy =
          tenantId === 'acme' && given.has(kind) ? ofStock.get(`${kind} ${name}`) : undefined;
        return assignableBy && { owner: 'stock', assignableBy };
      };
    },
  });
  return {
    sent,
    read,
    asked,
    assigned,
    ask: async (request: Fields, who: Principal) => carry(request, who, () => ({})),
  };
}

const refused = { code: Code.PermissionDenied };
const { create: createUser, update: updateUser, delete: deleteUser } = UsersService.method;
const person = (roles: string[]) => create(UserSchema, { userId: 'usr_1', roles });
const application = (fields: Fields) => create(ApplicationSchema, { clientId: 'desk', ...fields });

describe('what a record gives', () => {
  type Given = readonly [
    what: string,
    method: DescMethod,
    request: Fields,
    needs: readonly string[],
    everyTenant?: true,
  ];
  const gifts: readonly Given[] = [
    ...[...adminRoles].map(([role, scopes]): Given => [
      `the role ${role}`,
      createUser,
      { user: person([role]) },
      [...scopes],
    ]),
    ['a role of the tenant', createUser, { user: person(['clerk']) }, ['admin.roles.write']],
    ...[...adminScopes.keys()].map((scope): Given => [
      `the scope ${scope}`,
      ApplicationsService.method.create,
      { application: application({ scopes: ['openid', scope] }) },
      [scope],
    ]),
    [
      'a scope of an API of the tenant',
      ApplicationsService.method.create,
      { application: application({ scopes: ['orders.read'] }) },
      ['admin.resources.write'],
    ],
    [
      'the introspection of tokens',
      ApplicationsService.method.create,
      { application: application({ introspectAudiences: ['https://orders.example'] }) },
      ['admin.resources.write'],
    ],
    [
      'an audience of tokens',
      ApplicationsService.method.create,
      { application: application({ audiences: ['desk', 'https://orders.example'] }) },
      ['admin.resources.write'],
    ],
    [
      'a claim from an attribute of people',
      ApplicationsService.method.create,
      {
        application: application({
          claims: { pay: { attribute: 'salary', roles: false, targets: ['idToken'] } },
        }),
      },
      ['admin.users.read'],
    ],
    [
      'decisions for people',
      ApplicationsService.method.create,
      { application: application({ ciba: { approval: 'webhook', url: 'https://evil.example/' } }) },
      ['admin.users.write'],
    ],
    [
      'a shared audience',
      ResourcesService.method.create,
      { resource: create(ResourceSchema, { audience: 'x', shared: true }) },
      [],
      true,
    ],
    [
      'a scope with the name of one of administrators',
      ResourcesService.method.create,
      { resource: create(ResourceSchema, { audience: 'x', scopes: [{ name: 'admin.users.write' }] }) },
      ['admin.users.write'],
    ],
    [
      'another issuer, at which the tenant administers itself,',
      TenantsService.method.update,
      { tenant: { issuer: 'https://evil.example' } },
      [...adminScopes.keys()],
      true,
    ],
    [
      'passkeys of the shared host',
      TenantsService.method.update,
      { tenant: { issuer: '', passkeyDomain: 'shared' } },
      [],
      true,
    ],
    [
      'the administration of a tenant that was disabled',
      TenantsService.method.update,
      { tenant: { issuer: '', status: 'active' } },
      [...adminScopes.keys()],
    ],
    [
      'an attribute that is a claim',
      createUser,
      { tenantId: 'acme', user: create(UserSchema, { attributes: { pay: 'A3', team: 'x' } }) },
      ['admin.applications.write'],
    ],
    ...['issuer', '*'].map((path): Given => [
      `the shared issuer, by the mask ${path},`,
      TenantsService.method.update,
      { tenant: { issuer: '' }, updateMask: { paths: ['name', path] } },
      [],
      true,
    ]),
  ];

  it.each(gifts.map((gift) => [gift[0], gift] as const))(
    '%s is given by those who hold it',
    async (_name, [, method, request, needs, everyTenant]) => {
      const present = { issuer: 'https://id.acme.example', scopes: [] };
      const asks = async (who: Principal) => carriedOut(method, present).ask(request, who);
      await asks(holding(needs, everyTenant));
      for (const lacking of needs)
        await expect(
          asks(
            holding(
              [...adminScopes.keys()].filter((scope) => scope !== lacking),
              true,
            ),
          ),
        ).rejects.toMatchObject(refused);
      if (everyTenant) await expect(asks(holding([...adminScopes.keys()]))).rejects.toMatchObject(refused);
    },
  );

  it('is a key of the shared issuer, for an algorithm that a tenant there asks for and one elsewhere may', async () => {
    const { create: make } = ResourcesService.method;
    const asking = (tenantId: string, signingAlgorithm: string) => ({
      tenantId,
      resource: create(ResourceSchema, { audience: 'stock', signingAlgorithm }),
    });
    const ofResources = holding(['admin.resources.write']);
    const { ask, sent } = carriedOut(make);
    await expect(ask(asking('acme', 'ES256'), ofResources)).rejects.toMatchObject(refused);
    expect(sent).toEqual([]);
    await ask(asking('acme', 'ES256'), holding(['admin.resources.write'], true));
    for (const algorithm of ['', 'RS256']) await ask(asking('acme', algorithm), ofResources);
    await ask(asking('globex', 'ES256'), ofResources);
    expect(sent).toHaveLength(4);
  });

  it('is a scope of an API that is shared, as tokens of other tenants have it too', async () => {
    const scopes = (...names: string[]) => names.map((name) => ({ name }));
    const present = { shared: true, scopes: scopes('stock.read') };
    const { ask, sent } = carriedOut(ResourcesService.method.update, present);
    const asking = (...names: string[]) => ({
      tenantId: 'acme',
      resource: create(ResourceSchema, { audience: 'stock', shared: true, scopes: scopes(...names) }),
    });
    const ofResources = holding(['admin.resources.write']);
    await expect(ask(asking('stock.read', 'stock.all'), ofResources)).rejects.toMatchObject(refused);
    await ask(asking('stock.read'), ofResources);
    await ask(asking('stock.read', 'stock.all'), holding(['admin.resources.write'], true));
    expect(sent).toHaveLength(2);
  });

  it('is what a request adds, not what the record has', async () => {
    const { ask, sent } = carriedOut(updateUser, person(['clerk']));
    await ask({ user: person(['clerk']) }, holding(['admin.users.write']));
    expect(sent).toHaveLength(1);
    await expect(
      ask({ user: person(['clerk', 'manager']) }, holding(['admin.users.write'])),
    ).rejects.toMatchObject({
      rawMessage:
        'Nobody gives what they do not hold, or changes who holds more. ' +
        'user.roles: manager needs an access token with admin.roles.write.',
    });
    expect(sent).toHaveLength(1);
  });

  it('is no other issuer where a request says nothing about it', async () => {
    const { ask, sent } = carriedOut(TenantsService.method.update, { issuer: 'https://id.acme.example' });
    await ask({ tenant: { name: 'Acme', issuer: '' } }, holding(['admin.tenants.write']));
    expect(sent).toHaveLength(1);
  });

  it('is what is in a tenant that is deleted, for who holds every scope and writes for everybody', async () => {
    const { ask, sent } = carriedOut(TenantsService.method.delete);
    const all = { tenantId: 'globex', force: true };
    const others = { ...all, force: false };
    const scopes = [...adminScopes.keys()];
    for (const lacking of scopes)
      await expect(
        ask(
          all,
          holding(
            scopes.filter((scope) => scope !== lacking),
            true,
          ),
        ),
      ).rejects.toMatchObject({ code: Code.PermissionDenied });
    await expect(ask(all, { ...everything, owners: ['orders'] })).rejects.toMatchObject({
      code: Code.PermissionDenied,
    });
    expect(sent).toEqual([]);
    await ask(others, holding(['admin.tenants.read', 'admin.tenants.write'], true));
    await ask(all, everything);
    expect(sent).toHaveLength(2);
  });

  it('is not the shared issuer that the tenant has already', async () => {
    const { ask, sent } = carriedOut(TenantsService.method.update, { issuer: '' });
    const request = { tenant: { issuer: '' }, updateMask: { paths: ['issuer'] } };
    await ask(request, holding(['admin.tenants.write']));
    expect(sent).toHaveLength(1);
  });

  it('is not the status of a tenant that is new, or active already', async () => {
    const made = carriedOut(TenantsService.method.create);
    await made.ask({ tenant: { issuer: '', status: 'active' } }, holding(['admin.tenants.write']));
    expect(made.sent).toHaveLength(1);
    const { ask, sent } = carriedOut(TenantsService.method.update, { issuer: '', status: 'active' });
    await ask({ tenant: { issuer: '', status: 'active' } }, holding(['admin.tenants.write']));
    expect(sent).toHaveLength(1);
  });

  it('counts although the mask leaves it out', async () => {
    const request = { user: person(['tessera.auditor']), updateMask: { paths: ['name'] } };
    await expect(
      carriedOut(updateUser, person([])).ask(request, holding(['admin.users.write'])),
    ).rejects.toMatchObject(refused);
  });
});

describe('an attribute of a person', () => {
  const helper = holding(['admin.users.read', 'admin.users.write']);
  const manager = holding(['admin.users.read', 'admin.users.write', 'admin.applications.write']);
  const having = (attributes: Record<string, string | string[]>) =>
    create(UserSchema, { userId: 'usr_1', attributes });
  const present = having({ pay: ['A3', 'A4'], team: 'x' });
  const paths = (...names: string[]) => ({ updateMask: { paths: names } });

  it.each([
    ['another value', { user: having({ pay: 'A5' }) }],
    ['another order', { user: having({ pay: ['A4', 'A3'] }) }],
    ['a value under a mask', { user: having({ pay: 'A5' }), ...paths('attributes.pay') }],
    ['no value, among others', { user: having({ team: 'x' }) }],
    ['no value, by an empty record', { user: having({}) }],
    ['no value, by its path', { user: create(UserSchema), ...paths('name', 'attributes.pay') }],
    ['no value, by the path of all', { user: create(UserSchema), ...paths('attributes') }],
    ['no value, by the whole mask', { user: create(UserSchema), ...paths('*') }],
  ])('that is a claim gets %s from those who may change applications', async (_what, request) => {
    const { ask, sent } = carriedOut(updateUser, present);
    await expect(ask({ tenantId: 'acme', ...request }, helper)).rejects.toMatchObject({
      ...refused,
      rawMessage:
        'Nobody gives what they do not hold, or changes who holds more. ' +
        'user.attributes: pay needs an access token with admin.applications.write.',
    });
    expect(sent).toEqual([]);
    await ask({ tenantId: 'acme', ...request }, manager);
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['stays as it is', { user: having({ pay: ['A3', 'A4'], team: 'y' }) }],
    ['is not written', { user: having({ team: 'y' }), ...paths('attributes.team') }],
    ['is not spoken of', { user: create(UserSchema, { name: 'Ada' }) }],
    ['is a claim in no application', { tenantId: 'globex', user: having({ pay: 'A5' }) }],
  ])('that %s is changed by those who may change people', async (_what, request) => {
    const { ask, sent } = carriedOut(updateUser, present);
    await ask({ tenantId: 'acme', ...request }, helper);
    expect(sent).toHaveLength(1);
  });

  it('that is a claim is not kept by a role of the same name', async () => {
    const { ask, sent } = carriedOut(updateUser, present);
    const user = create(UserSchema, { userId: 'usr_1', roles: ['pay'], attributes: { team: 'x' } });
    const asking = ask({ tenantId: 'acme', user }, holding(['admin.users.write', 'admin.roles.write']));
    await expect(asking).rejects.toMatchObject({
      ...refused,
      rawMessage: expect.stringContaining('user.attributes: pay needs') as string,
    });
    expect(sent).toEqual([]);
  });

  it('that is a claim comes back with those who may change applications', async () => {
    const { ask } = carriedOut(UsersService.method.undelete, present);
    const request = { tenantId: 'acme', userId: 'usr_1' };
    await expect(ask(request, helper)).rejects.toMatchObject(refused);
    await ask(request, manager);
  });
});

describe('who or what administers', () => {
  const helper = holding(['admin.users.read', 'admin.users.write', 'admin.applications.write']);

  it.each([
    [
      updateUser,
      { user: create(UserSchema, { userId: 'usr_1', password: 'x' }) },
      person(['tessera.auditor']),
    ],
    [deleteUser, { userId: 'usr_1' }, person(['tessera.administrator'])],
    [
      UsersService.method.createPasswordLink,
      { userId: 'usr_1' },
      person(['tessera.helpdesk', 'tessera.auditor']),
    ],
    [UsersService.method.resetSecondFactors, { userId: 'usr_1' }, person(['tessera.auditor'])],
    [UsersService.method.deleteCredential, { userId: 'usr_1' }, person(['tessera.auditor'])],
    [UsersService.method.lockDown, { userId: 'usr_1' }, person(['tessera.auditor'])],
    [UsersService.method.unlock, { userId: 'usr_1' }, person(['tessera.auditor'])],
    [
      ApplicationsService.method.createSecret,
      { clientId: 'desk' },
      application({ scopes: ['admin.roles.read'] }),
    ],
    [
      ApplicationsService.method.deleteSecret,
      { clientId: 'desk' },
      application({ scopes: ['admin.roles.read'] }),
    ],
    [
      ApplicationsService.method.update,
      { application: application({ redirectUris: ['https://evil.example/'] }) },
      application({ scopes: ['admin.roles.read'] }),
    ],
    [ApplicationsService.method.delete, { clientId: 'desk' }, application({ scopes: ['admin.roles.read'] })],
  ] as const)('is changed by %o only for those who hold as much', async (method, request, present) => {
    const { ask, sent } = carriedOut(method, present);
    await expect(ask(request, helper)).rejects.toMatchObject(refused);
    expect(sent).toEqual([]);
    await ask(request, everything);
    expect(sent).toHaveLength(1);
  });

  it.each([
    [UsersService.method.undelete, { userId: 'usr_1' }, person(['tessera.auditor'])],
    [UsersService.method.undelete, { userId: 'usr_1' }, person(['manager'])],
    [
      ApplicationsService.method.undelete,
      { clientId: 'desk' },
      application({ scopes: ['admin.roles.read'] }),
    ],
  ] as const)('is brought back by %o only by those who hold as much', async (method, request, deleted) => {
    const { ask, sent } = carriedOut(method, deleted);
    await expect(ask(request, helper)).rejects.toMatchObject(refused);
    expect(sent).toEqual([{ ...request, validateOnly: true }]);
    await ask(request, everything);
    expect(sent.at(-1)).toEqual({ ...request, etag: 'restored' });
  });

  it('is judged on the version that is changed: later ones are judged again', async () => {
    const { ask, sent, read } = carriedOut(deleteUser, person([]), 2);
    await ask({ tenantId: 'acme', userId: 'usr_1', etag: '' }, helper);
    expect(read).toHaveLength(3);
    expect(read[2]).toEqual({ tenantId: 'acme', userId: 'usr_1' });
    expect(sent.map(({ etag }) => etag)).toEqual(['v1', 'v2', 'v3']);
    const changes = carriedOut(updateUser, person([]));
    const ada = create(UserSchema, { userId: 'usr_1', name: 'Ada' });
    await changes.ask({ tenantId: 'acme', user: ada }, helper);
    expect(changes.sent).toEqual([{ tenantId: 'acme', owner: 'api', user: { ...ada, etag: 'v1' } }]);
  });

  it('is brought back as it was judged', async () => {
    const { undelete } = UsersService.method;
    const { ask, sent } = carriedOut(undelete, { ...person([]), etag: 'as judged' }, 2);
    await ask({ userId: 'usr_1' }, helper);
    expect(sent.filter(({ validateOnly }) => validateOnly === true)).toHaveLength(3);
    expect(sent.at(-1)).toEqual({ userId: 'usr_1', etag: 'as judged' });
  });

  it.each([
    UsersService.method.createPasswordLink,
    UsersService.method.resetSecondFactors,
    UsersService.method.deleteCredential,
    UsersService.method.lockDown,
    UsersService.method.unlock,
  ])('is helped by $name at the version that was judged', async (method) => {
    const { ask, sent } = carriedOut(method, person([]), 1);
    await ask({ userId: 'usr_1' }, helper);
    expect(sent.map(({ etag }) => etag)).toEqual(['v1', 'v2']);
  });

  it('is not changed by a method that names no version', () => {
    const input = {
      ...deleteUser.input,
      fields: deleteUser.input.fields.filter(({ name }) => name !== 'etag'),
    };
    expect(() => carriedOut({ ...deleteUser, input })).toThrow(
      'UsersService/Delete names no version of what it changes',
    );
  });

  it('is not changed at another version than the caller names', async () => {
    const { ask, sent } = carriedOut(deleteUser, person([]), 1);
    await expect(ask({ userId: 'usr_1', etag: 'v0' }, helper)).rejects.toMatchObject({ code: Code.Aborted });
    expect(sent).toEqual([]);
    await expect(ask({ userId: 'usr_1', etag: 'v2' }, helper)).rejects.toMatchObject({ code: Code.Aborted });
    expect(sent).toHaveLength(1);
  });
});

it('a method that the table does not know is served only if it has no side effects, and not of every kind of record', async () => {
  const { ask, sent } = carriedOut({ ...UsersService.method.list, localName: 'unknown' });
  await ask({ tenantId: 'acme' }, holding([]));
  expect(sent).toEqual([{ tenantId: 'acme' }]);
  for (const method of [UsersService.method.update, DeclaredStateService.method.get]) {
    expect(() => carriedOut({ ...method, localName: 'unknown' })).toThrow(
      'what-is-given.ts does not say what it gives',
    );
  }
});

describe('a request', () => {
  it('is judged five times, if each time the record has changed meanwhile', async () => {
    const { ask, read } = carriedOut(deleteUser, person([]), 99);
    await expect(ask({ userId: 'usr_1' }, everything)).rejects.toMatchObject({ code: Code.Aborted });
    expect(read).toHaveLength(5);
  });

  it('is not judged again after another failure, or one of others with the same number', async () => {
    for (const failure of [
      new ConnectError('gone', Code.NotFound),
      Object.assign(new Error('x'), { code: Code.Aborted }),
    ]) {
      let asked = 0;
      const carry = carrying(deleteUser, {
        send: () => Promise.reject(failure),
        read: async () => ({ ...person([]), etag: `v${(asked += 1)}` }),
        attributesInClaims: async () => new Set(),
        assignablesOf: async () => () => undefined,
        issuerOf: async () => '',
      });
      await expect(carry({ userId: 'usr_1' }, everything, () => ({}))).rejects.toBe(failure);
      expect(asked).toBe(1);
    }
  });

  it('changes nothing of a service that cannot read what it changes', () => {
    const send = async () => ({});
    const attributesInClaims = async () => new Set<string>();
    const assignablesOf = async () => () => undefined;
    const issuerOf = async () => '';
    const guarded = { send, read: undefined, attributesInClaims, assignablesOf, issuerOf };
    expect(() => carrying(deleteUser, guarded)).toThrow(
      'UsersService has no method that reads what Delete changes',
    );
  });

  it('has claims looked up only for attributes that the caller does not hold, and is told all that is lacking', async () => {
    const user = create(UserSchema, {
      userId: 'usr_1',
      roles: ['clerk'],
      attributes: { pay: 'A5', team: 'x' },
    });
    const { ask, asked, sent } = carriedOut(createUser);
    await expect(ask({ tenantId: 'acme', user: person(['clerk']) }, holding([]))).rejects.toMatchObject(
      refused,
    );
    expect(asked).toEqual([]);
    await expect(ask({ tenantId: 'acme', user }, holding([]))).rejects.toMatchObject({
      rawMessage:
        'Nobody gives what they do not hold, or changes who holds more. ' +
        'user.roles: clerk needs an access token with admin.roles.write; ' +
        'user.attributes: pay needs an access token with admin.applications.write.',
    });
    expect(asked).toEqual(['acme']);
    expect(sent).toEqual([]);
    await ask({ tenantId: 'acme', user }, everything);
    expect(asked).toEqual(['acme']);
  });

  it('is told which claim of an application tells of people', async () => {
    const claims = {
      pay: { attribute: 'salary', roles: false, targets: ['idToken', 'userinfo'] },
      groups: { attribute: '', roles: true, targets: ['accessToken'] },
    };
    const asking = carriedOut(ApplicationsService.method.create).ask(
      { application: application({ claims }) },
      holding([]),
    );
    await expect(asking).rejects.toMatchObject({
      rawMessage: expect.stringMatching(
        /claims: pay from salary in idToken userinfo needs .*claims: groups from roles in accessToken needs/,
      ) as string,
    });
  });

  it.each([
    ['in an object', { path: ['realm_access', 'roles'] }, 'realm.realm_access.roles from roles'],
    ['by a prefix that goes', { rolePrefix: 'o:' }, 'realm from roles o:'],
  ])('bound to owners, makes no roles of APIs of others out of its own: %s', async (_how, form, what) => {
    const claims = { realm: { roles: true, targets: ['accessToken'], ...form } };
    const ask = async (who: Principal) =>
      carriedOut(ApplicationsService.method.create).ask(
        { application: application({ claims }), owner: 'orders' },
        who,
      );
    await expect(ask(bound(['orders']))).rejects.toMatchObject({
      rawMessage: expect.stringContaining(`claims: ${what} in accessToken needs`) as string,
    });
    await ask(bound(['*']));
  });

  it('gives more by a claim in an object than by one whose name reads like it', async () => {
    const roles = { roles: true, targets: ['accessToken'] };
    const flat = { 'x.realm_access.roles': roles };
    const nested = { x: { ...roles, path: ['realm_access', 'roles'] } };
    const { ask } = carriedOut(
      ApplicationsService.method.update,
      application({ clientId: 'shop', claims: flat }),
    );
    const asked = {
      tenantId: 'acme',
      application: application({ clientId: 'shop', claims: nested }),
      updateMask: { paths: ['claims'] },
    };
    const narrow = holding(['admin.applications.write', 'admin.users.read']);
    await expect(ask(asked, narrow)).rejects.toMatchObject(refused);
  });

  it('gives more by a claim of all roles than by one of some', async () => {
    const some = { realm: { roles: true, rolePrefix: 'shop:', targets: ['idToken'] } };
    const all = { realm: { roles: true, targets: ['idToken'] } };
    const { ask } = carriedOut(
      ApplicationsService.method.update,
      application({ clientId: 'shop', claims: some }),
    );
    const asked = {
      tenantId: 'acme',
      application: application({ clientId: 'shop', claims: all }),
      updateMask: { paths: ['claims'] },
    };
    await expect(ask(asked, holding(['admin.applications.write']))).rejects.toMatchObject(refused);
  });

  it('is told of the operator tenant where only its tokens do', async () => {
    const tenant = { tenant: { issuer: 'https://id.example' } };
    const asks = (who: Principal) => carriedOut(TenantsService.method.create).ask(tenant, who);
    await expect(asks(holding([...adminScopes.keys()]))).rejects.toMatchObject({
      rawMessage:
        'Nobody gives what they do not hold, or changes who holds more. ' +
        'tenant.issuer: https://id.example needs an access token of the operator tenant.',
    });
  });
});

describe('the operator tenant', () => {
  const { update, delete: remove } = TenantsService.method;
  const disabling = {
    tenantId: 'acme',
    tenant: { issuer: '', status: 'disabled' },
    updateMask: { paths: ['status'] },
  };
  const almostEverything = [...adminScopes.keys()].filter((scope) => scope !== 'admin.users.write');
  const active = { issuer: '', status: 'active' };

  it.each([
    ['disabled', update, disabling],
    ['deleted', remove, { tenantId: 'acme' }],
  ] as const)('is %s only by who holds everything', async (_, method, request) => {
    for (const scopes of [['admin.tenants.write'], almostEverything]) {
      const { ask, sent } = carriedOut(method, active);
      await expect(ask(request, holding(scopes, true))).rejects.toMatchObject({
        ...refused,
        rawMessage: expect.stringMatching(
          /^(Disabling|Deleting) acme would end the administration of every tenant, .* admin\.users\.write/,
        ) as string,
      });
      expect(sent).toEqual([]);
    }
    const { ask, sent } = carriedOut(method, active);
    await ask(request, everything);
    expect(sent).toHaveLength(1);
  });

  it('is changed otherwise by who changes tenants, and so is every other tenant', async () => {
    const changer = holding(['admin.tenants.write'], true);
    for (const request of [
      { tenantId: 'acme', tenant: { issuer: '', name: 'Acme' }, updateMask: { paths: ['name'] } },
      { ...disabling, tenantId: 'globex' },
    ]) {
      const { ask, sent } = carriedOut(update, active);
      await ask(request, changer);
      expect(sent).toHaveLength(1);
    }
    const { ask, sent } = carriedOut(update, active);
    await ask(disabling, holding(['admin.tenants.write']));
    expect(sent).toHaveLength(1);
  });
});

describe('who is bound to owners', () => {
  const { update, delete: deleteApplication, undelete } = ApplicationsService.method;
  const desk = (owner: string, fields: Fields = {}) => ({ ...application(fields), owner });

  it('writes as the only one of them, unless it names one', async () => {
    const { ask, sent } = carriedOut(ApplicationsService.method.create);
    await ask({ application: application({}) }, bound(['orders']));
    await ask({ application: application({}) }, bound(['orders', 'api']));
    await ask({ application: application({}), owner: 'orders' }, bound(['orders', 'api']));
    await ask({ application: application({}), owner: 'k8s:shop/web' }, bound(['k8s:shop/*']));
    await ask({ application: application({}) }, everything);
    expect(sent.map(({ owner }) => owner)).toEqual(['orders', 'api', 'orders', 'k8s:shop/web', 'api']);
  });

  it.each([[['orders', 'stock']], [['k8s:shop/*']], [[]]])(
    'names one if it is bound to %j',
    async (owners) => {
      const { ask, sent } = carriedOut(ApplicationsService.method.create);
      await expect(ask({ application: application({}) }, bound(owners))).rejects.toMatchObject({
        code: Code.InvalidArgument,
      });
      expect(sent).toEqual([]);
    },
  );

  it.each([
    ['another one', 'billing', ['orders']],
    ['the usual one', 'api', ['orders']],
    ['one beyond the beginning', 'k8s:shopping/web', ['k8s:shop/*']],
    ['one, bound to nobody', 'orders', []],
  ])('does not write as %s', async (_what, owner, owners) => {
    for (const method of [ApplicationsService.method.create, update, deleteApplication]) {
      const { ask, sent } = carriedOut(method, desk(owner));
      await expect(ask({ application: application({}), owner }, bound(owners))).rejects.toMatchObject({
        ...refused,
        rawMessage: expect.stringContaining(`the owner "${owner}"`) as string,
      });
      expect(sent).toEqual([]);
    }
  });

  it.each([update, deleteApplication, ApplicationsService.method.createSecret])(
    'does not call $name for the record of another one, even to take it over or to disable it',
    async (method) => {
      const { ask, sent } = carriedOut(method, desk('billing'));
      const disabled = {
        application: application({ status: 'disabled' }),
        updateMask: { paths: ['status'] },
      };
      for (const request of [{}, { takeOver: true }, disabled])
        await expect(ask({ clientId: 'desk', ...request }, bound(['orders']))).rejects.toMatchObject({
          ...refused,
          rawMessage: expect.stringContaining('the owner "billing"') as string,
        });
      expect(sent).toEqual([]);
      await ask({ clientId: 'desk', takeOver: true }, bound(['orders', 'billing', 'api']));
      expect(sent).toMatchObject([{ takeOver: true, owner: 'api' }]);
    },
  );

  it('brings back no record of another one', async () => {
    const { ask, sent } = carriedOut(undelete, desk('billing'));
    await expect(ask({ clientId: 'desk' }, bound(['orders']))).rejects.toMatchObject(refused);
    expect(sent.filter(({ validateOnly }) => validateOnly !== true)).toEqual([]);
    await ask({ clientId: 'desk' }, bound(['billing']));
    expect(sent.filter(({ validateOnly }) => validateOnly !== true)).toHaveLength(1);
  });

  it.each([
    ['other owners', { owners: ['orders', 'billing'] }, 'billing'],
    ['everybody', { owners: ['*'] }, '*'],
    ['those that it would have without `owners`', { scopes: ['admin.users.read'] }, 'api'],
  ])('gives no application %s', async (_what, fields, owner) => {
    const { ask, sent } = carriedOut(ApplicationsService.method.create);
    const asked = { application: application(fields) };
    await expect(ask(asked, bound(['orders']))).rejects.toMatchObject({
      ...refused,
      rawMessage: expect.stringContaining(`owners: ${owner} needs`) as string,
    });
    expect(sent).toEqual([]);
    await ask(asked, bound(['*']));
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['without them', { scopes: ['admin.users.read'], owners: ['orders'] }, {}, ['owners']],
    [
      'without a mask that says so',
      { owners: [] },
      { scopes: ['admin.users.read'], owners: ['orders'] },
      ['scopes'],
    ],
    ['by nothing but its scopes', {}, { scopes: ['admin.users.read'] }, []],
  ])('changes no application so that it is bound to others: %s', async (_what, before, fields, paths) => {
    const { ask, sent } = carriedOut(update, desk('orders', before));
    const asked = { application: application(fields), updateMask: { paths } };
    await expect(ask(asked, bound(['orders']))).rejects.toMatchObject({
      ...refused,
      rawMessage: expect.stringContaining('owners: api needs') as string,
    });
    expect(sent).toEqual([]);
  });

  it.each([[['scopes']], [[]]])(
    'changes the scopes of what is bound to it, with the mask %j',
    async (paths) => {
      const { ask, sent } = carriedOut(update, desk('orders', { owners: ['orders'] }));
      const asked = { application: application({ scopes: ['admin.users.read'] }), updateMask: { paths } };
      await ask(asked, bound(['orders']));
      expect(sent).toHaveLength(1);
    },
  );

  it.each([
    [
      'by which people administer',
      { grantTypes: ['client_credentials', 'ciba'], scopes: ['admin.users.read'] },
    ],
    ['with every scope', { grantTypes: ['client_credentials'], scopes: [...adminScopes.keys()] }],
  ])('makes no application without owners %s, as it would be bound to nobody', async (_what, fields) => {
    const { ask, sent } = carriedOut(ApplicationsService.method.create);
    const asked = { application: application(fields) };
    await expect(ask(asked, bound(['api']))).rejects.toMatchObject({
      ...refused,
      rawMessage: expect.stringContaining('owners: * needs') as string,
    });
    await ask({ application: application({ ...fields, owners: ['api'] }) }, bound(['api']));
    expect(sent).toHaveLength(1);
  });

  it.each([
    UsersService.method.createPasswordLink,
    UsersService.method.resetSecondFactors,
    UsersService.method.deleteCredential,
    UsersService.method.lockDown,
  ])('does not call $name for somebody of another one, whom Unlock helps all the same', async (method) => {
    const of = { ...person([]), owner: 'billing' };
    const { ask, sent } = carriedOut(method, of);
    await expect(ask({ userId: 'usr_1' }, bound(['orders']))).rejects.toMatchObject(refused);
    expect(sent).toEqual([]);
    await ask({ userId: 'usr_1' }, bound(['billing']));
    expect(sent).toHaveLength(1);
    const unlocked = carriedOut(UsersService.method.unlock, of);
    await unlocked.ask({ userId: 'usr_1' }, bound(['orders']));
    expect(unlocked.sent).toHaveLength(1);
  });

  it('takes no scope of the administration for an API of its own', async () => {
    const { ask } = carriedOut(ResourcesService.method.create);
    const resource = create(ResourceSchema, { scopes: [{ name: 'admin.users.read' }] });
    await expect(ask({ resource }, bound(['orders']))).rejects.toMatchObject(refused);
  });

  it('changes no application that is bound to others', async () => {
    const { ask, sent } = carriedOut(update, desk('orders', { owners: ['billing'] }));
    const asked = { application: application({ name: 'Desk' }) };
    await expect(ask(asked, bound(['orders']))).rejects.toMatchObject(refused);
    await ask({ ...asked, owner: 'orders' }, bound(['orders', 'billing']));
    expect(sent).toHaveLength(1);
  });

  it('makes nobody an administrator who writes, as people are bound to nobody', async () => {
    const { ask, sent } = carriedOut(createUser);
    await expect(ask({ user: person(['tessera.helpdesk']) }, bound(['orders']))).rejects.toMatchObject(
      refused,
    );
    await ask({ user: person(['tessera.auditor']) }, bound(['orders']));
    expect(sent).toHaveLength(1);
  });
});

describe('a scope of an API that says who assigns it', () => {
  const applications = ['admin.applications.write'];
  const { create: createApplication, update, undelete } = ApplicationsService.method;
  const reading = application({ scopes: ['openid', 'stock.read'] });

  it('is given by those who write applications as whom it lets, and by nobody else', async () => {
    const { ask, sent } = carriedOut(createApplication);
    const asked = { tenantId: 'acme', application: reading };
    for (const owner of ['billing', 'api'])
      await expect(
        ask({ ...asked, owner }, bound(['orders', 'billing', 'api'], applications)),
      ).rejects.toMatchObject({
        ...refused,
        rawMessage: expect.stringContaining(
          `stock.read needs an access token with admin.resources.write for the owner of its API, or that its API lets the owner "${owner}" assign it by assignableBy: ["${owner}"], beside others that it names (tessera resource update <audience> --assignable-by "${owner}")`,
        ) as string,
      });
    const other = { ...asked, application: application({ scopes: ['stock.read', 'orders.read'] }) };
    await expect(ask(other, bound(['orders'], applications))).rejects.toMatchObject(refused);
    expect(sent).toEqual([]);
    await ask(asked, bound(['orders'], applications));
    expect(sent).toHaveLength(1);
  });

  it('is given to an application that is there, or comes back, as by its owner', async () => {
    const changed = carriedOut(update, application({ scopes: ['openid'] }));
    await changed
      .ask({ tenantId: 'acme', application: reading, takeOver: true }, bound(['orders', 'api'], applications))
      .then(
        () => expect.unreachable('it wrote as api'),
        (error: unknown) => expect(error).toMatchObject(refused),
      );
    await changed.ask(
      { tenantId: 'acme', application: reading, owner: 'orders', takeOver: true },
      bound(['orders', 'api'], applications),
    );
    expect(changed.sent).toHaveLength(1);
    for (const [owner, times] of [
      ['orders', 2],
      ['billing', 1],
    ] as const) {
      const restored = carriedOut(undelete, { ...reading, owner });
      await restored
        .ask({ tenantId: 'acme', clientId: 'desk' }, bound(['orders', 'billing'], applications))
        .catch((error: unknown) => expect(error).toMatchObject(refused));
      expect(restored.sent).toHaveLength(times);
    }
  });

  it.each([
    ['scopes', { scopes: ['stock.read'] }],
    ['introspectAudiences', { introspectAudiences: ['https://stock.example'] }],
    ['audiences', { audiences: ['https://stock.example'] }],
  ])('is, as %s, given by who may change APIs if that API is of their owner', async (_field, fields) => {
    const { ask, sent } = carriedOut(createApplication);
    const asked = { tenantId: 'acme', application: application(fields), owner: 'billing' };
    await expect(ask(asked, bound(['billing']))).rejects.toMatchObject(refused);
    expect(sent).toEqual([]);
    await ask(asked, bound(['billing', 'stock']));
    await ask(asked, bound(['*']));
    expect(sent).toHaveLength(2);
  });

  it('is, as an audience that no API has, given by who writes the records of everybody', async () => {
    const { ask, sent } = carriedOut(createApplication);
    const asked = {
      tenantId: 'acme',
      application: application({ audiences: ['account'] }),
      owner: 'billing',
    };
    await expect(ask(asked, bound(['billing', 'stock']))).rejects.toMatchObject(refused);
    expect(sent).toEqual([]);
    await ask(asked, bound(['*']));
    await ask({ ...asked, application: application({ audiences: ['desk'] }) }, bound(['billing']));
    expect(sent).toHaveLength(2);
  });

  it('is, as the identifier of the application itself, free only where no API has it', async () => {
    const { ask, sent } = carriedOut(createApplication);
    const withItself = (clientId: string) => ({
      tenantId: 'acme',
      application: application({ clientId, audiences: [clientId] }),
      owner: 'billing',
    });
    for (const owners of [['*'], ['billing']]) {
      const who = bound(owners, applications);
      await expect(ask(withItself('orders'), who)).rejects.toMatchObject({
        ...refused,
        rawMessage: expect.stringContaining('application.audiences: orders needs') as string,
      });
      await ask(withItself('desk'), who);
    }
    expect(sent).toEqual([withItself('desk'), withItself('desk')]);
  });

  it('is looked up only where somebody needs it', async () => {
    const { ask, assigned } = carriedOut(createApplication);
    await ask({ tenantId: 'acme', application: application({}) }, bound(['orders'], applications));
    await ask({ tenantId: 'acme', application: reading }, everything);
    expect(assigned).toEqual([]);
  });
});

describe('a role of an owner', () => {
  const people = ['admin.users.write', 'admin.roles.write'];
  const { undelete } = UsersService.method;
  const packing = { tenantId: 'acme', user: create(UserSchema, { userId: 'usr_1', roles: ['packer'] }) };
  const refusal = {
    ...refused,
    rawMessage:
      'Nobody gives what they do not hold, or changes who holds more. ' +
      'user.roles: packer needs an application whose `owners` have stock.',
  };

  it.each([createUser, updateUser])(
    'is given by $name only by those who write its records, whatever scopes others hold',
    async (method) => {
      for (const scopes of [people, [...adminScopes.keys()]]) {
        const { ask, sent } = carriedOut(method, { ...person([]), owner: 'orders' });
        await expect(ask(packing, bound(['orders'], scopes))).rejects.toMatchObject(refusal);
        expect(sent).toEqual([]);
        await ask({ ...packing, owner: 'orders' }, bound(['orders', 'stock'], scopes));
        await ask(packing, bound(['*'], scopes));
        expect(sent).toHaveLength(2);
      }
    },
  );

  it('comes back with a person only by those who write its records', async () => {
    const deleted = { ...person(['packer']), owner: 'orders' };
    const { ask, sent } = carriedOut(undelete, deleted);
    const request = { tenantId: 'acme', userId: 'usr_1' };
    await expect(ask(request, bound(['orders'], people))).rejects.toMatchObject(refusal);
    expect(sent).toEqual([{ ...request, validateOnly: true }]);
    await ask(request, bound(['orders', 'stock'], people));
    expect(sent.filter(({ validateOnly }) => validateOnly !== true)).toHaveLength(1);
  });

  it('stays, and is taken away, as it was without a rule', async () => {
    const { ask, sent } = carriedOut(updateUser, { ...person(['packer']), owner: 'orders' });
    await ask({ ...packing, user: { ...packing.user, name: 'Ada' } }, bound(['orders'], people));
    await ask(
      { tenantId: 'acme', user: person([]), updateMask: { paths: ['roles'] } },
      bound(['orders'], people),
    );
    expect(sent).toHaveLength(2);
  });

  it('still needs the right to give roles', async () => {
    const { ask, sent } = carriedOut(createUser);
    await expect(ask(packing, bound(['orders'], ['admin.users.write']))).rejects.toMatchObject({
      ...refused,
      rawMessage: expect.stringContaining(
        'packer needs an access token with admin.roles.write and an application whose `owners` have stock',
      ) as string,
    });
    await expect(ask(packing, bound(['stock'], ['admin.users.write']))).rejects.toMatchObject(refused);
    expect(sent).toEqual([]);
  });

  it('is looked up alone, and not for those who write records of everybody', async () => {
    const { ask, assigned } = carriedOut(createUser);
    await ask(packing, bound(['*'], people));
    await ask({ tenantId: 'acme', user: person(['tessera.auditor']) }, bound(['orders']));
    expect(assigned).toEqual([]);
    await ask(packing, bound(['stock'], people));
    expect(assigned).toEqual(['acme role']);
  });

  it('that no record has is left to the directory, which refuses it', async () => {
    const { ask, sent } = carriedOut(createUser);
    await ask({ tenantId: 'acme', user: person(['unknown']) }, bound(['orders'], people));
    expect(sent).toHaveLength(1);
  });
});
