import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { adminScopes } from '@tessera/oauth';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { declaredAccess, type AuthenticateBearer, type DescMethod } from '@tessera/rpc';
import { beforeAll, describe, expect, it } from 'vitest';
import { administered, type Administered, type Answer } from './testing/administered.ts';

type Body = Readonly<Record<string, unknown>>;

/** For each method a request that succeeds once, in an order in which they all do; from the answers before it. */
const requests: readonly [method: string, request: (answers: ReadonlyMap<string, Body>) => object][] = [
  ['TenantsService/Create', () => ({ tenantId: 'fresh', tenant: { name: 'Fresh' } })],
  ['TenantsService/Get', () => ({ tenantId: 'acme' })],
  ['TenantsService/List', () => ({})],
  ['TenantsService/Update', () => ({ tenantId: 'acme', tenant: { name: 'Acme Ltd' }, takeOver: true })],
  ['TenantsService/Delete', () => ({ tenantId: 'fresh' })],
  ['DirectoryService/GetApplication', () => ({ clientId: 'acme-robot' })],
  ['DirectoryService/FindUser', () => ({ tenantId: 'acme', identifier: 'ada' })],
  ['DeclaredStateService/Diff', () => ({ tenantId: 'declared', document: declared })],
  ['DeclaredStateService/Apply', () => ({ tenantId: 'declared', document: declared })],
  ['DeclaredStateService/Get', () => ({ tenantId: 'declared', kinds: ['application'] })],
  ['RolesService/Create', () => ({ tenantId: 'acme', role: { name: 'clerk' } })],
  ['RolesService/Get', () => ({ tenantId: 'acme', name: 'clerk' })],
  ['RolesService/List', () => ({ tenantId: 'acme' })],
  ['RolesService/Delete', () => ({ tenantId: 'acme', name: 'clerk' })],
  ['ResourcesService/Create', () => ({ tenantId: 'acme', resource: { audience: 'stock', name: 'Stock' } })],
  ['ResourcesService/Get', () => ({ tenantId: 'acme', audience: 'stock' })],
  ['ResourcesService/List', () => ({ tenantId: 'acme' })],
  [
    'ResourcesService/Update',
    () => ({ tenantId: 'acme', resource: { audience: 'stock', name: 'The stock' } }),
  ],
  ['ResourcesService/Delete', () => ({ tenantId: 'acme', audience: 'stock' })],
  [
    'UsersService/Create',
    () => ({ tenantId: 'acme', user: { username: 'eve', roles: ['tessera.auditor'] } }),
  ],
  ['UsersService/Get', (answers) => ({ tenantId: 'acme', userId: userId(answers) })],
  ['UsersService/GetCredentials', (answers) => ({ tenantId: 'acme', userId: userId(answers) })],
  ['UsersService/List', () => ({ tenantId: 'acme' })],
  ['ApprovalsService/List', (answers) => ({ tenantId: 'acme', userId: userId(answers) })],
  ['ApprovalsService/Cancel', () => ({ tenantId: 'acme', approvalId })],
  ['SessionsService/List', () => ({ tenantId: 'acme' })],
  [
    'SessionsService/CountSignIns',
    () => ({ tenantId: 'acme', startTime: '2026-01-01T00:00:00Z', stretchSeconds: 3600, stretches: 24 }),
  ],
  ['SessionsService/EndSessions', () => ({ tenantId: 'acme', sessionId })],
  ['GrantsService/List', () => ({ tenantId: 'ops', clientId: 'ops-console' })],
  [
    'GrantsService/CountTokens',
    () => ({ tenantId: 'acme', startTime: '2026-01-01T00:00:00Z', stretchSeconds: 3600, stretches: 1 }),
  ],
  ['GrantsService/RevokeGrants', () => ({ tenantId: 'ops', clientId: 'ops-console' })],
  ['ConsentsService/List', () => ({ tenantId: 'acme' })],
  [
    'ConsentsService/Delete',
    (answers) => ({ tenantId: 'acme', userId: userId(answers), clientId: 'acme-robot' }),
  ],
  ['MailService/List', () => ({ tenantId: 'acme' })],
  ['MailService/Delete', () => ({ tenantId: 'acme', mailId: 'tm_waiting' })],
  [
    'UsersService/Update',
    (answers) => ({ tenantId: 'acme', user: { userId: userId(answers), name: 'Eve' } }),
  ],
  [
    'UsersService/CreatePasswordLink',
    (answers) => ({ tenantId: 'acme', userId: userId(answers), purpose: 'invitation' }),
  ],
  ['UsersService/ResetSecondFactors', (answers) => ({ tenantId: 'acme', userId: userId(answers) })],
  ['UsersService/DeleteCredential', (answers) => ({ tenantId: 'acme', userId: userId(answers), totp: true })],
  ['UsersService/LockDown', (answers) => ({ tenantId: 'acme', userId: userId(answers) })],
  ['UsersService/Unlock', (answers) => ({ tenantId: 'acme', userId: userId(answers) })],
  ['UsersService/Delete', (answers) => ({ tenantId: 'acme', userId: userId(answers) })],
  ['UsersService/ListDeleted', () => ({ tenantId: 'acme' })],
  ['UsersService/Undelete', (answers) => ({ tenantId: 'acme', userId: userId(answers) })],
  ['AuditService/Search', () => ({ tenantId: 'acme' })],
  ['KeysService/List', () => ({})],
  ['KeysService/Rotate', () => ({ immediately: true })],
  // Not one for RS256, which has signed the tokens of this test.
  ['KeysService/Withdraw', (answers) => ({ kid: retiredKid(answers, 'ES256') })],
  ['ApplicationsService/Create', () => ({ tenantId: 'acme', application: desk })],
  ['ApplicationsService/Get', () => ({ tenantId: 'acme', clientId: 'desk' })],
  ['ApplicationsService/List', () => ({ tenantId: 'acme' })],
  ['ApplicationsService/CreateSecret', () => ({ tenantId: 'acme', clientId: 'desk' })],
  ['ApplicationsService/ListSecrets', () => ({ tenantId: 'acme', clientId: 'desk' })],
  [
    'ApplicationsService/DeleteSecret',
    (answers) => ({
      tenantId: 'acme',
      clientId: 'desk',
      secretId: answers.get('ApplicationsService/CreateSecret')?.['secretId'],
    }),
  ],
  [
    'ApplicationsService/Update',
    () => ({ tenantId: 'acme', application: { clientId: 'desk', name: 'The desk' } }),
  ],
  ['ApplicationsService/Delete', () => ({ tenantId: 'acme', clientId: 'desk' })],
  ['ApplicationsService/ListDeleted', () => ({ tenantId: 'acme' })],
  ['ApplicationsService/Undelete', () => ({ tenantId: 'acme', clientId: 'desk' })],
];
const declared =
  'tenants: [{ id: declared, name: Declared, applications: [{ clientId: tv, name: TV, type: public, grantTypes: [device_code] }] }]';
const desk = {
  clientId: 'desk',
  name: 'Desk',
  type: 'confidential',
  grantTypes: ['client_credentials'],
  scopes: ['admin.users.read'],
};
interface Key {
  readonly kid: string;
  readonly algorithm: string;
  readonly state: string;
}
const retiredKid = (answers: ReadonlyMap<string, Body>, algorithm: string) =>
  (answers.get('KeysService/Rotate')?.['keys'] as readonly Key[] | undefined)?.find(
    (key) => key.algorithm === algorithm && key.state === 'retired',
  )?.kid;
const userId = (answers: ReadonlyMap<string, Body>) => answers.get('UsersService/Create')?.['userId'];

const everyScope = [...adminScopes.keys()];
const answers = new Map<string, Body>();

let on: Administered;
let approvalId: string;
let sessionId: string;
let methods: ReadonlyMap<string, DescMethod>;
/** What must have happened before the right token's call. */
const before: Readonly<Record<string, () => Promise<void>>> = {
  'UsersService/ResetSecondFactors': async () => putTotp('acme', userId(answers)),
  'UsersService/DeleteCredential': async () => putTotp('acme', userId(answers)),
  'ConsentsService/Delete': async () => putConsent('acme', userId(answers), 'acme-robot'),
  'MailService/Delete': async () => putMail('acme', 'tm_waiting'),
};

async function putMail(...key: readonly unknown[]): Promise<void> {
  await on.database.query({
    name: 'test.put_mail',
    text: `INSERT INTO directory.mail (mail_id, tenant_id, user_id, kind, sealed, due_at, expires_at)
           VALUES ($2, $1, '', 'reset-request', '', now() + interval '1 hour', now() + interval '1 hour')`,
    values: key,
  });
}

async function putConsent(...key: readonly unknown[]): Promise<void> {
  await on.database.query({
    name: 'test.put_consent',
    text: `INSERT INTO authorize.consent (tenant_id, user_id, client_id, scopes, granted_at)
           VALUES ($1, $2, $3, '{openid}', now())`,
    values: key,
  });
}

async function putTotp(tenantId: string, ofUser: unknown): Promise<void> {
  await on.database.query({
    name: 'test.put_totp',
    text: `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ($1, $2, '', 0) ON CONFLICT DO NOTHING`,
    values: [tenantId, ofUser],
  });
}
/** What is presented in place of the right token, and the status of the answer. */
let wrong: (
  method: DescMethod,
) => readonly (readonly [what: string, token: string | undefined, status: number])[];
let right: string;
let ofTheHelpDesk: string;
beforeAll(async () => {
  on = await administered();
  const expired = await on.tokenOfClient('ops');
  on.clock.set(Date.now());
  right = await on.tokenOfClient('ops');
  approvalId = await on.waitingFor();
  sessionId = await on.session();
  await on.tokenOfPerson('ops', await on.userId('ops', 'root'), ['openid', 'offline_access']);
  methods = new Map(
    on.admin.routes.flatMap(({ service }) =>
      service.methods.map((method) => [`${service.name}/${method.name}`, method] as const),
    ),
  );
  const weaker = new Map<string, string>();
  for (const method of methods.values()) {
    const lacking = openingScopes(method);
    const others = everyScope.filter((scope) => !lacking.includes(scope));
    if (!weaker.has(lacking.join())) weaker.set(lacking.join(), await on.tokenOfClient('ops', others));
  }
  ofTheHelpDesk = await on.tokenOfPerson('ops', await on.userId('ops', 'helper'));
  const otherAudience = await on.tokenOfClient('ops', ['orders.read']);
  const ofItsOwnIssuer = await on.tokenOfClient('globex');
  const ofTheSharedIssuer = await on.tokenOfClient('initech');
  wrong = (method) => [
    ['no token', undefined, 401],
    ['something else than a token', 'nothing', 401],
    ['an expired token', expired, 401],
    ['a token for another audience', otherAudience, 401],
    ['a token of another tenant', ofItsOwnIssuer, 403],
    ['a token of another tenant at the shared issuer', ofTheSharedIssuer, 403],
    ['a token with every other scope', weaker.get(openingScopes(method).join()) ?? right, 403],
    ...(isForHelpDesk(method) ? [] : [['a token of the help desk', ofTheHelpDesk, 403] as const]),
  ];
});

/** The scopes any of which opens a method; of a method for records of several kinds, that of the first. */
function openingScopes(method: DescMethod): readonly string[] {
  const { scopes } = declaredAccess(method);
  return method.parent.typeName === DeclaredStateService.typeName ? scopes.slice(0, 1) : scopes;
}

/** What shows people and what happened to them, and what signs them out. */
const forHelpDesk =
  /^(DirectoryService\/FindUser|UsersService\/(Get|GetCredentials|List|ListDeleted)|GrantsService\/(List|CountTokens)|(Sessions|Consents|Mail|Audit)Service\/.+)$/;

function isForHelpDesk({ name, parent }: DescMethod): boolean {
  return forHelpDesk.test(`${parent.name}/${name}`);
}

const ask = async (name: string, token: string | undefined, at?: string): Promise<Answer> => {
  const request = requests.find(([method]) => method === name)?.[1](answers) ?? {};
  const method = methodOf(name);
  return on.post(`${method.parent.typeName}/${method.name}`, request, token, at);
};

/** What a server answers to every wrong token, and whether something changed. */
async function refusals(name: string, at?: string) {
  const before = await on.everything();
  const given: Refusal[] = [];
  for (const [what, token] of wrong(methodOf(name))) {
    const { status, body } = await ask(name, token, at);
    given.push({ what, status, code: body['code'], message: body['message'] });
  }
  return { given, changed: (await on.everything()) !== before };
}

interface Refusal {
  readonly what: string;
  readonly status: number;
  readonly code: unknown;
  /** With what to do about it, behind a colon or a full stop. */
  readonly message: unknown;
}

const expectedRefusals = (name: string) => ({
  given: wrong(methodOf(name)).map(([what, _token, status]): Refusal => ({
    what,
    status,
    code: status === 401 ? 'unauthenticated' : 'permission_denied',
    message: expect.stringMatching(/[:.] ./),
  })),
  changed: false,
});

function methodOf(name: string): DescMethod {
  const method = methods.get(name);
  if (method === undefined) throw new Error(`there is no ${name}`);
  return method;
}

describe('a method of the administration API', () => {
  it('is tried here, whichever it is', () => {
    expect(requests.map(([name]) => name).toSorted()).toEqual([...methods.keys()].toSorted());
  });

  it('is opened by one scope that exists, but for the help desk and records of several kinds, and each scope opens one', () => {
    const scopes = [...methods.values()]
      .filter(({ parent }) => parent.typeName !== DeclaredStateService.typeName)
      .map((method) => declaredAccess(method).scopes);
    const ofHelp = ['admin.users.write', 'admin.helpdesk.write'];
    expect(scopes.filter((one) => one.length !== 1)).toEqual(Array.from({ length: 6 }, () => ofHelp));
    expect(new Set(scopes.flat())).toEqual(new Set(everyScope));
    const kinds = ['applications', 'resources', 'roles', 'tenants', 'users'];
    for (const method of DeclaredStateService.methods) {
      const way = method.name === 'Get' ? 'read' : 'write';
      expect(declaredAccess(method).scopes).toEqual(kinds.map((kind) => `admin.${kind}.${way}`));
    }
  });

  it.each(requests.map(([name]) => name))(
    '%s refuses every wrong token and takes the right one',
    async (name) => {
      expect(await refusals(name)).toEqual(expectedRefusals(name));
      await before[name]?.();
      const present = await on.everything();
      const { status, body } = await ask(name, right);
      expect([status, body]).toEqual([200, expect.anything()]);
      answers.set(name, body);
      const reads = methodOf(name).idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
      expect((await on.everything()) === present, 'reading changes nothing, writing does').toBe(reads);
    },
  );
});

describe('the help desk', () => {
  it('helps somebody who administers nothing, and nobody else', async () => {
    const tenantId = 'ops';
    const [plain, administrator] = [await on.userId(tenantId, 'nobody'), await on.userId(tenantId, 'root')];
    for (const [name, fields] of [
      ['CreatePasswordLink', { purpose: 'reset' }],
      ['ResetSecondFactors', {}],
      ['DeleteCredential', { totp: true }],
      ['Unlock', {}],
      ['LockDown', {}],
    ] as const) {
      for (const of of [plain, administrator]) await putTotp(tenantId, of);
      const help = async (of: string) =>
        on.post(`tessera.admin.v1.UsersService/${name}`, { tenantId, userId: of, ...fields }, ofTheHelpDesk);
      expect([name, (await help(administrator)).status]).toEqual([name, 403]);
      expect([name, (await help(plain)).status]).toEqual([name, 200]);
    }
    const revoke = { tenantId, userId: plain };
    expect((await on.post('tessera.admin.v1.GrantsService/RevokeGrants', revoke, ofTheHelpDesk)).status).toBe(
      200,
    );
  });

  it.each([
    ['CreatePasswordLink', { purpose: 'reset' }],
    ['ResetSecondFactors', {}],
    ['DeleteCredential', { totp: true }],
    ['LockDown', {}],
  ] as const)('gives itself no way in, and takes none from itself, by %s', async (name, fields) => {
    const whose = { tenantId: 'ops', userId: await on.userId('ops', 'helper') };
    const before = await on.everything();
    const path = `tessera.admin.v1.UsersService/${name}`;
    expect((await on.post(path, { ...whose, ...fields }, ofTheHelpDesk)).body).toMatchObject({
      code: 'failed_precondition',
      message: expect.stringMatching(/^You cannot .* at the account page/) as string,
    });
    expect(await on.everything()).toBe(before);
  });

  it.each(requests.map(([name]) => name).filter((name) => forHelpDesk.test(name)))(
    'may call %s',
    async (name) => {
      await before[name]?.();
      expect((await ask(name, ofTheHelpDesk)).status).toBe(200);
    },
  );
});

/** What a defect would let through. */
const believing: AuthenticateBearer = async () => ({
  caller: 'admin',
  principal: { kind: 'client', id: 'anybody', everyTenant: true, scopes: everyScope },
  scopes: everyScope,
});

describe('this test', () => {
  const planted = async (defect: (bearer: AuthenticateBearer) => AuthenticateBearer) =>
    on.serve({
      ...on.admin,
      routes: on.admin.routes.map((route) => ({ ...route, bearer: defect(route.bearer ?? believing) })),
    });

  it.each([
    ['believes any token', () => believing],
    [
      'overlooks the tenant',
      (bearer: AuthenticateBearer): AuthenticateBearer =>
        async (token, call) => {
          const identity = await bearer(token, call);
          return { ...identity, principal: { ...identity.principal, everyTenant: true } };
        },
    ],
    [
      'overlooks the scopes',
      (bearer: AuthenticateBearer): AuthenticateBearer =>
        async (token, call) => ({
          ...(await bearer(token, call)),
          scopes: everyScope,
        }),
    ],
  ] as const)('fails where the server %s', async (_defect, plant) => {
    const at = await planted(plant);
    for (const name of ['RolesService/List', 'RolesService/Create'])
      expect(await refusals(name, at)).not.toEqual(expectedRefusals(name));
  });

  it('fails where a refused call changes something', async () => {
    const before = await on.everything();
    await on.post(
      'tessera.admin.v1.RolesService/Create',
      { tenantId: 'acme', role: { name: 'canary' } },
      right,
    );
    expect(await on.everything()).not.toBe(before);
  });
});
