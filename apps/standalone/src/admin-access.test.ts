import { Code, createClient, type Transport } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { ScalarType } from '@bufbuild/protobuf';
import { adminScopes } from '@tessera/oauth';
import { UsersService, type User } from '@tessera/proto-gen/admin-users';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { local } from '@tessera/rpc';
import { eventually, silentLog } from '@tessera/test-kit';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { administered, call, type Administered } from './testing/administered.ts';

const run = promisify(execFile);
const everyScope = [...adminScopes.keys()];

let on: Administered;
let robot: string;
const people = new Map<string, User>();
beforeAll(async () => {
  on = await administered();
  on.clock.set(Date.now());
  robot = await on.tokenOfClient('ops');
  const users = local(UsersService, on.directory, 'operator', silentLog());
  for (const tenantId of ['ops', 'globex', 'initech'])
    for (const user of (await users.list({ tenantId }, call())).users) people.set(user.username, user);
});

const idOf = (username: string): string => people.get(username)?.userId ?? '';
const tokenOf = async (username: string, tenantId = 'ops') => on.tokenOfPerson(tenantId, idOf(username));
const method = (name: string) => `tessera.admin.v1.${name}`;
const users = (verb: string, request: object, token: string) =>
  on.post(method(`UsersService/${verb}`), request, token);
const applications = (verb: string, request: object, token: string) =>
  on.post(method(`ApplicationsService/${verb}`), request, token);

describe('an administrator', () => {
  const transports: readonly [string, (baseUrl: string) => Transport][] = [
    ['Connect', (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1' })],
    ['gRPC', (baseUrl) => createGrpcTransport({ baseUrl })],
    ['gRPC-web', (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' })],
  ];

  it.each(transports)('calls over %s', async (name, transportTo) => {
    const client = createClient(UsersService, transportTo(on.url));
    const headers = { authorization: `Bearer ${robot}` };
    const username = `over.${name.toLowerCase()}`;
    const made = await client.create({ tenantId: 'acme', user: { username } }, { headers });
    expect(made).toMatchObject({ username, owner: 'api' });
    expect((await client.get({ tenantId: 'acme', userId: made.userId }, { headers })).etag).toBe(made.etag);
    await expect(client.get({ tenantId: 'acme', userId: made.userId })).rejects.toThrow(
      'send "authorization: Bearer',
    );
  });

  it('calls with curl and buf curl', async () => {
    const bearer = ['-H', `authorization: Bearer ${robot}`];
    const json = ['-H', 'content-type: application/json', '-d', '{"tenantId": "acme"}'];
    const list = `${on.url}/${method('UsersService/List')}`;
    const { stdout: byCurl } = await run('curl', ['-sS', ...bearer, ...json, list]);
    const root = new URL('../../../', import.meta.url).pathname;
    const schema = ['curl', '--schema', `${root}proto`, ...bearer, '-d', '{"tenantId": "acme"}'];
    const { stdout: byBuf } = await run(`${root}node_modules/.bin/buf`, [
      ...schema,
      '--protocol',
      'grpc',
      '--http2-prior-knowledge',
      list,
    ]);
    expect(JSON.parse(byBuf)).toEqual(JSON.parse(byCurl));
    expect(JSON.parse(byCurl)).toMatchObject({
      users: expect.arrayContaining([expect.objectContaining({ username: 'ada' })]) as unknown,
    });
  });

  it('is the actor in the audit trail, whatever else the call says', async () => {
    const token = await tokenOf('root');
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'x-tessera-caller': 'operator',
      'x-tessera-actor': 'user acme usr_somebody',
    };
    const body = JSON.stringify({ tenantId: 'acme', user: { username: 'by.root' } });
    const response = await fetch(`${on.url}/${method('UsersService/Create')}`, {
      method: 'POST',
      headers,
      body,
    });
    expect(response.status).toBe(200);
    await users('Create', { tenantId: 'acme', user: { username: 'by.robot' } }, robot);
    expect((await on.actors('acme')).slice(-2)).toEqual([
      { type: 'user', id: idOf('root'), tenantId: 'ops' },
      { type: 'client', id: 'ops-robot', tenantId: 'ops' },
    ]);
  });

  it('searches what was recorded by every service, of one tenant or of all', async () => {
    const about = (await users('Create', { tenantId: 'acme', user: { username: 'recorded' } }, robot)).body[
      'userId'
    ];
    const search = async (request: object, token = robot) =>
      on.post(method('AuditService/Search'), request, token);
    const { body } = await search({ tenantId: 'acme', about });
    expect(body).toMatchObject({
      events: [
        {
          event: 'user.created',
          actor: { type: 'client', id: 'ops-robot', tenantId: 'ops' },
          subject: about,
        },
      ],
    });
    const eventsOf = async (request: object) =>
      ((await search(request)).body['events'] ?? []) as { event: string }[];
    await eventually(
      'the token has its row',
      async () => (await eventsOf({ tenantId: 'ops', event: 'token.' })).length > 0,
    );
    expect(await eventsOf({ event: 'key.activated' })).toMatchObject([{}, {}]);
    const gus = await tokenOf('gus', 'globex');
    expect((await search({ tenantId: 'globex' }, gus)).status).toBe(200);
    for (const tenantId of ['acme', '']) expect((await search({ tenantId }, gus)).status).toBe(403);
  });

  it.each([
    ['with an issuer of its own', 'gus', 'globex'],
    ['at the shared issuer', 'ivy', 'initech'],
  ])('of a tenant %s reaches that tenant alone', async (_where, username, own) => {
    const token = await tokenOf(username, own);
    expect((await users('List', { tenantId: own }, token)).status).toBe(200);
    expect(await users('List', { tenantId: 'acme' }, token)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining(`name ${own} in tenantId`) as string },
    });
    expect(await on.post(method('TenantsService/List'), {}, token)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('operator tenant') as string },
    });
    expect((await on.post(method('TenantsService/Get'), { tenantId: own }, token)).status).toBe(200);
    for (const tenantId of ['', own.toUpperCase(), `${own} `, `${own}\0`, `${own}\0ops`])
      expect([tenantId, (await users('List', { tenantId }, token)).status]).toEqual([tenantId, 403]);
    for (const [verb, request] of [
      ['Get', {}],
      ['CreatePasswordLink', { purpose: 'reset' }],
    ] as const)
      expect((await users(verb, { tenantId: own, userId: idOf('root'), ...request }, token)).status).toBe(
        404,
      );
  });

  it('of a tenant at the shared issuer gets there what its tokens open, and nothing that is all tenants’', async () => {
    const token = await tokenOf('ivy', 'initech');
    const update = async (tenant: object) =>
      on.post(method('TenantsService/Update'), { tenantId: 'initech', tenant, takeOver: true }, token);
    for (const tenant of [{ issuer: 'https://login.initech.example' }, { passkeyDomain: 'shared' }])
      expect((await update(tenant)).status).toBe(403);
    const rotate = async (tenantId: string) => on.post(method('KeysService/Rotate'), { tenantId }, token);
    expect((await rotate('')).status).toBe(403);
    const shared = { audience: 'https://all.initech.example', name: 'All', shared: true };
    const resource = await on.post(
      method('ResourcesService/Create'),
      { tenantId: 'initech', resource: shared },
      token,
    );
    expect(resource.status).toBe(403);
    expect((await update({ name: 'Initech Ltd' })).status).toBe(200);
  });

  it('comes with an access token alone', async () => {
    const scopes = ['openid', 'offline_access', 'admin.users.read'];
    const { accessToken, idToken, refreshToken } = await on.tokensOfPerson('ops', idOf('root'), scopes);
    for (const [token, status] of [
      [accessToken, 200],
      [idToken, 401],
      [refreshToken, 401],
      [`${accessToken}x`, 401],
      [`x.${accessToken}`, 401],
    ] as const) {
      expect(token).not.toBe('');
      expect([status, (await users('List', { tenantId: 'ops' }, token)).status]).toEqual([status, status]);
    }
  });

  it('is told which field of a request breaks a rule of its proto', async () => {
    expect(await applications('List', { tenantId: 'acme', pageSize: -1 }, robot)).toEqual({
      status: 400,
      body: {
        code: 'invalid_argument',
        message: 'pageSize: must be greater than or equal to 0',
        details: [expect.objectContaining({ type: 'google.rpc.BadRequest' })],
      },
    });
    const lists = on.admin.routes
      .flatMap(({ service }) => service.methods)
      .filter(({ input }) => input.fields.some(({ localName }) => localName === 'pageSize'));
    expect(lists.length).toBeGreaterThan(8);
    for (const { name, parent } of lists)
      expect([
        parent.name,
        (await on.post(`${parent.typeName}/${name}`, { tenantId: 'acme', pageSize: -1 }, robot)).status,
      ]).toEqual([parent.name, 400]);
  });

  it('is refused a NUL in a text of any request, which no store has', async () => {
    const methods = on.admin.routes
      .flatMap(({ service }) => service.methods)
      .filter(({ methodKind }) => methodKind === 'unary');
    expect(methods.length).toBeGreaterThan(40);
    for (const { name, parent, input } of methods) {
      const texts = input.fields.filter(
        ({ fieldKind, scalar, oneof }) => fieldKind === 'scalar' && scalar === ScalarType.STRING && !oneof,
      );
      const request = Object.fromEntries(texts.map(({ jsonName }) => [jsonName, 'a\0b']));
      const { status, body } = await on.post(`${parent.typeName}/${name}`, request, robot);
      expect([name, status, body['message']]).toEqual([name, 400, expect.stringMatching(/U\+0000/)]);
    }
  });

  it('repeats no request of another tenant', async () => {
    const globex = await on.tokenOfClient('globex');
    const make = async (tenantId: string, token: string, user: object) =>
      users('Create', { tenantId, user, requestId: 'r-1' }, token);
    const made = await make('ops', robot, { username: 'same', email: 'same@ops.example' });
    expect(made.status).toBe(200);
    const other = await make('globex', globex, { username: 'same' });
    expect([other.status, other.body['email'] ?? '']).toEqual([200, '']);
    expect(other.body['userId']).not.toBe(made.body['userId']);
  });

  it.each([
    ['ops', 'root', 'tessera.cli'],
    ['ops', 'root', 'tessera.cli.ops'],
    ['globex', 'gus', 'tessera.cli.globex'],
    ['initech', 'ivy', 'tessera.cli.initech'],
  ])('of %s, such as %s, logs in with the command line as %s', async (tenantId, username, clientId) => {
    const token = await on.tokenOfPerson(tenantId, idOf(username), everyScope, clientId);
    expect((await users('List', { tenantId }, token)).status).toBe(200);
    expect((await users('List', { tenantId: 'acme' }, token)).status).toBe(tenantId === 'ops' ? 200 : 403);
  });

  it.each([
    ['somebody without a role', 'ops', 'nobody', 'tessera.cli'],
    ['a person of another tenant', 'ops', 'gus', 'tessera.cli'],
    ["another tenant's issuer", 'globex', 'gus', 'tessera.cli'],
    ["another tenant's command line", 'ops', 'root', 'tessera.cli.globex'],
    ['a person of another tenant at the shared issuer', 'acme', 'root', 'tessera.cli.acme'],
  ])('is not who logs in with the command line: %s', async (_who, tenantId, username, clientId) => {
    await expect(on.tokenOfPerson(tenantId, idOf(username), everyScope, clientId)).rejects.toThrow();
  });

  it('may do what both the token and the roles of now allow', async () => {
    const helper = await tokenOf('helper');
    expect((await users('List', { tenantId: 'acme' }, helper)).status).toBe(200);
    expect(await applications('List', { tenantId: 'acme' }, helper)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('a person also needs a role') as string },
    });
    const reader = await on.tokenOfPerson('ops', idOf('root'), ['admin.users.read']);
    expect((await users('Create', { tenantId: 'acme', user: { username: 'x' } }, reader)).status).toBe(403);
    const auditor = await tokenOf('auditor');
    expect((await applications('List', { tenantId: 'acme' }, auditor)).status).toBe(200);
    expect((await users('Create', { tenantId: 'acme', user: { username: 'x' } }, auditor)).status).toBe(403);
    const nobody = await tokenOf('nobody');
    expect((await users('List', { tenantId: 'acme' }, nobody)).status).toBe(403);
    const give = {
      tenantId: 'ops',
      user: { userId: idOf('nobody'), roles: ['tessera.auditor'] },
      takeOver: true,
    };
    expect((await users('Update', give, robot)).status).toBe(200);
    expect((await users('List', { tenantId: 'acme' }, nobody)).status).toBe(200);
  });

  it('ends with the person, the application, or a scope of it', async () => {
    const second = await tokenOf('second');
    expect((await users('List', { tenantId: 'acme' }, second)).status).toBe(200);
    const disabled = {
      tenantId: 'ops',
      user: { userId: idOf('second'), status: 'disabled' },
      takeOver: true,
    };
    expect((await users('Update', disabled, robot)).status).toBe(200);
    expect((await users('List', { tenantId: 'acme' }, second)).status).toBe(401);
    const gus = await tokenOf('gus', 'globex');
    const withdraw = (fields: object) =>
      applications(
        'Update',
        { tenantId: 'globex', application: { clientId: 'globex-console', ...fields }, takeOver: true },
        robot,
      );
    expect((await withdraw({ scopes: ['openid', 'admin.roles.read'] })).status).toBe(200);
    expect((await users('List', { tenantId: 'globex' }, gus)).status).toBe(403);
    expect((await withdraw({ status: 'disabled' })).status).toBe(200);
    expect((await on.post(method('RolesService/List'), { tenantId: 'globex' }, gus)).status).toBe(401);
  });

  it('applies and compares a declared state with every scope alone, as passwords are compared too', async () => {
    const service = 'tessera.admin.v1.DeclaredStateService';
    const state = {
      tenantId: 'acme',
      document: 'tenants: [{ id: acme, users: [{ username: by.file, roles: [tessera.administrator] }] }]',
    };
    const auditor = await tokenOf('auditor');
    const guess = {
      tenantId: 'ops',
      document: 'tenants: [{ id: ops, users: [{ username: root, password: a guess }] }]',
    };
    expect((await on.post(`${service}/Diff`, guess, auditor)).status).toBe(403);
    expect((await on.post(`${service}/Diff`, state, robot)).status).toBe(200);
    for (const token of [auditor, await tokenOf('helper'), await on.tokenOfClient('globex')]) {
      const before = await on.everything();
      expect((await on.post(`${service}/Apply`, state, token)).status).toBe(403);
      expect(await on.everything()).toBe(before);
    }
    const writer = await on.tokenOfClient('ops', ['admin.tenants.write', 'admin.users.write']);
    // As the file whose owner has them, it would delete what else that tenant has.
    expect(await on.post(`${service}/Apply`, state, writer)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('resource needs admin.resources.write') as string },
    });
    const another = { ...state, owner: 'a-team' };
    expect(await on.post(`${service}/Apply`, another, writer)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('Nobody gives what') as string },
    });
    expect((await on.post(`${service}/Apply`, another, robot)).status).toBe(400);
    const allowed = { ...another, allowAdministration: true };
    expect((await on.post(`${service}/Apply`, allowed, robot)).status).toBe(200);
    expect((await on.actors('acme')).at(-1)).toEqual({ type: 'client', id: 'ops-robot', tenantId: 'ops' });
  });

  it('reaches none of the methods that are for operators alone', async () => {
    const before = await on.everything();
    const made = await on.post('tessera.directory.v1.BootstrapService/CreateFirstAdministrator', {}, robot);
    expect(made).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    expect(await on.everything()).toBe(before);
  });
});

describe('nobody gives what they do not hold, or changes who holds more', () => {
  it('among people', async () => {
    const ofPeople = await on.tokenOfClient('ops', ['admin.users.read', 'admin.users.write']);
    const refused = async (verb: string, request: object) => {
      const before = await on.everything();
      const answer = await users(verb, { tenantId: 'ops', ...request }, ofPeople);
      expect(answer).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining('Nobody gives what') as string },
      });
      expect(await on.everything()).toBe(before);
    };
    await refused('Create', { user: { username: 'crony', roles: ['tessera.administrator'] } });
    await refused('Update', {
      user: { userId: idOf('helper'), roles: ['tessera.helpdesk', 'tessera.auditor'] },
      takeOver: true,
    });
    await refused('Update', {
      user: { userId: idOf('root'), password: 'a password of the helper' },
      takeOver: true,
    });
    await refused('Update', {
      user: { userId: idOf('root'), email: 'helper@ops.example' },
      updateMask: 'email',
      takeOver: true,
    });
    await refused('Delete', { userId: idOf('root'), takeOver: true });
    await refused('CreatePasswordLink', { userId: idOf('root'), purpose: 'reset' });
    await refused('CreatePasswordLink', { userId: idOf('root'), purpose: 'reset', validateOnly: true });
    await refused('Update', { user: { userId: idOf('root') }, updateMask: '*', takeOver: true });
    await refused('Update', {
      user: { userId: idOf('helper'), roles: ['tessera.administrator'] },
      updateMask: 'name',
      takeOver: true,
    });
    const made = await users('Create', { tenantId: 'ops', user: { username: 'plain' } }, ofPeople);
    const password = { userId: made.body['userId'], password: 'another long passphrase' };
    expect((await users('Update', { tenantId: 'ops', user: password }, ofPeople)).status).toBe(200);
  });

  it('with a link that was made before its person became an administrator', async () => {
    const ofPeople = await on.tokenOfClient('ops', ['admin.users.read', 'admin.users.write']);
    const made = await users('Create', { tenantId: 'ops', user: { username: 'newcomer' } }, ofPeople);
    const { userId } = made.body;
    const link = await users('CreatePasswordLink', { tenantId: 'ops', userId, purpose: 'reset' }, ofPeople);
    expect(link.status).toBe(200);
    const promoted = { tenantId: 'ops', user: { userId, roles: ['tessera.administrator'] } };
    expect((await users('Update', promoted, robot)).status).toBe(200);
    const gateway = local(DirectoryService, on.directory, 'gateway', silentLog());
    const opened = new URL(String(link.body['uri'])).searchParams.get('link') ?? '';
    await expect(gateway.getPasswordLink({ link: opened, tenantId: '' }, call())).rejects.toMatchObject({
      code: Code.NotFound,
    });
  });

  it('among applications', async () => {
    const weak = await on.tokenOfClient('ops', ['admin.applications.read', 'admin.applications.write']);
    const refused = async (verb: string, request: object) => {
      const before = await on.everything();
      const answer = await applications(verb, { tenantId: 'ops', ...request }, weak);
      expect(answer).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining('Nobody gives what') as string },
      });
      expect(await on.everything()).toBe(before);
    };
    const made = { clientId: 'tool', name: 'Tool', type: 'confidential', grantTypes: ['client_credentials'] };
    await refused('Create', { application: { ...made, scopes: ['admin.users.write'] } });
    await refused('Create', { application: { ...made, scopes: ['orders.read'] } });
    await refused('CreateSecret', { clientId: 'ops-robot', takeOver: true });
    await refused('Update', {
      application: { clientId: 'ops-console', redirectUris: ['https://evil.example/'] },
      takeOver: true,
    });
    await refused('Delete', { clientId: 'ops-robot', takeOver: true });
    const own = { ...made, scopes: ['admin.applications.read'] };
    expect((await applications('Create', { tenantId: 'ops', application: own }, weak)).status).toBe(200);
    expect((await applications('CreateSecret', { tenantId: 'ops', clientId: 'tool' }, weak)).status).toBe(
      200,
    );
  });

  it('across tenants', async () => {
    const globex = await on.tokenOfClient('globex');
    const issuer = { tenantId: 'globex', tenant: { issuer: 'https://id.acme.example' }, takeOver: true };
    expect((await on.post(method('TenantsService/Update'), issuer, globex)).status).toBe(403);
    const shared = { tenantId: 'globex', tenant: { name: 'Globex' }, updateMask: 'issuer', takeOver: true };
    expect((await on.post(method('TenantsService/Update'), shared, globex)).status).toBe(403);
    const resource = { audience: 'https://orders.example', name: 'Mine', shared: true };
    expect(
      (await on.post(method('ResourcesService/Create'), { tenantId: 'globex', resource }, globex)).status,
    ).toBe(403);
    const named = { tenantId: 'globex', tenant: { name: 'Globex AG' }, takeOver: true };
    expect((await on.post(method('TenantsService/Update'), named, globex)).status).toBe(200);
  });
});
