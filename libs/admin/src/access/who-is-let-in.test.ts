import { adminAudience } from '@tessera/oauth';
import {
  ApplicationSchema,
  GetApplicationResponseSchema,
  GetUserResponseSchema,
  Status,
  TenantSchema,
  UserSchema,
  type Application,
  type Tenant,
  type User,
} from '@tessera/proto-gen/directory';
import { IntrospectResponseSchema, TokenKind, type IntrospectResponse } from '@tessera/proto-gen/token';
import { Code, ConnectError, create, rootCall } from '@tessera/rpc';
import { expect, it } from 'vitest';
import { administratorAuthentication } from './bearer-administrators.ts';

const read = 'admin.users.read';
const write = 'admin.users.write';
const own = 'https://acme.example';
const shared = 'https://id.example';
const acme = { tenantId: 'acme', issuer: own };

interface World {
  readonly token?: Partial<IntrospectResponse>;
  readonly application?: Partial<Application>;
  readonly tenant?: Partial<Tenant>;
  readonly user?: Partial<User>;
  readonly operator?: string;
  readonly failing?: Error;
  /** What the answer about the application lacks. */
  readonly lacking?: 'application' | 'tenant';
  readonly issuer?: string | undefined;
}

/**
 * What an access token of the person `usr_root` opens by the application `console` of the operator tenant, but for what
 * is said.
 */
async function letIn(world: World = {}) {
  const active = { status: Status.ACTIVE, validFrom: 1_000n };
  const asked: unknown[] = [];
  const { tenant, operator = 'ops' } = world;
  const tenantId = tenant?.tenantId ?? 'ops';
  const authenticate = administratorAuthentication({
    introspection: {
      introspect: async () =>
        create(IntrospectResponseSchema, {
          active: true,
          kind: TokenKind.ACCESS_TOKEN,
          aud: adminAudience,
          sub: 'usr_root',
          clientId: 'console',
          tenantId,
          iss: tenant?.issuer || shared,
          scope: `${read} openid`,
          iat: 1_000n,
          exp: 1_900n,
          ...(world.token as object),
        }),
    },
    directory: {
      getApplication: async (request) => {
        asked.push(request);
        if (world.failing !== undefined) throw world.failing;
        const scopes = [read, write].map((name) => ({ name, audience: adminAudience }));
        const answer = create(GetApplicationResponseSchema, {
          application: create(ApplicationSchema, {
            ...active,
            clientId: 'console',
            scopes,
            ...(world.application as object),
          }),
          tenant: create(TenantSchema, { tenantId, status: Status.ACTIVE, ...(tenant as object) }),
        });
        if (world.lacking !== undefined) delete answer[world.lacking];
        return answer;
      },
      getUser: async (request) => {
        asked.push(request);
        if (request.userId !== 'usr_root') throw new ConnectError('no such person', Code.NotFound);
        return create(GetUserResponseSchema, {
          user: create(UserSchema, {
            ...active,
            userId: 'usr_root',
            roles: ['tessera.administrator'],
            ...(world.user as object),
          }),
        });
      },
    },
    config: { TESSERA_OPERATOR_TENANT: operator, TESSERA_ISSUER: 'issuer' in world ? world.issuer : shared },
  });
  return { ...(await authenticate('a token', rootCall('a-request', 1_000))), asked };
}

const refused = (message: RegExp) => ({
  code: 'invalid_token',
  message: expect.stringMatching(message) as string,
});

it('lets a person in with the scopes of the token, and asks for the records that it names', async () => {
  const { principal, scopes, remedy, caller, asked } = await letIn();
  expect([caller, scopes]).toEqual(['admin', [read]]);
  expect(principal).toEqual({
    kind: 'user',
    id: 'usr_root',
    tenantId: 'ops',
    everyTenant: true,
    expiresAt: 1_900,
    scopes: [read],
    owners: ['*'],
  });
  expect(remedy?.(['admin.users.write'])).toBe(
    'The application console must have it, and the token be asked for with it; ' +
      'a person also needs a role that has it: tessera.administrator.',
  );
  expect(asked).toEqual([{ clientId: 'console' }, { tenantId: 'ops', userId: 'usr_root' }]);
});

it('tells a person at the command line the roles that have the scope, as nothing else can be missing', async () => {
  const { remedy } = await letIn({
    token: { clientId: 'tessera.cli' },
    application: { clientId: 'tessera.cli' },
  });
  expect(remedy?.(['admin.applications.write'])).toBe(
    'A person needs a role that has it: tessera.administrator.',
  );
});

it('lets a client in with its own scopes, and reaches every tenant from the operator tenant alone', async () => {
  const { principal, remedy } = await letIn({ tenant: acme, token: { sub: 'console' } });
  expect(principal).toEqual({
    kind: 'client',
    id: 'console',
    tenantId: 'acme',
    expiresAt: 1_900,
    scopes: [read],
    owners: ['api'],
  });
  expect(remedy?.([write])).toBe('The application console must have it, and the token be asked for with it.');
});

it.each([
  ['is not active', { active: false }, /^The access token is not valid\. Get a new one\.$/],
  ['is no access token', { kind: TokenKind.REFRESH_TOKEN }, /^The access token is not valid/],
  [
    'is for another API',
    { aud: 'urn:orders' },
    /^The access token is for another API\. Get one for urn:tessera:admin/,
  ],
  [
    'is of another tenant than its application',
    { tenantId: 'other' },
    /^The application of the access token is no longer active/,
  ],
  [
    'is of another issuer',
    { iss: own },
    /^The access token is of another issuer than its tenant has now\. Get a new one\.$/,
  ],
])('refuses a token that %s', async (_what, token, message) => {
  await expect(letIn({ token })).rejects.toMatchObject(refused(message));
});

it.each([shared, 'https://other.example'])(
  'refuses a token of %s for a tenant that has an issuer of its own',
  async (iss) => {
    await expect(letIn({ tenant: acme, token: { iss } })).rejects.toMatchObject(refused(/another issuer/));
  },
);

it('refuses a token of the shared issuer once the operator tenant has an issuer of its own', async () => {
  const tenant = { tenantId: 'ops', issuer: own };
  await expect(letIn({ tenant, token: { iss: shared } })).rejects.toMatchObject(refused(/another issuer/));
  expect((await letIn({ tenant })).principal).toMatchObject({ everyTenant: true });
});

it.each([
  ['an operator tenant', 'ops'],
  ['none', ''],
])('lets a tenant at the shared issuer reach itself alone, with %s', async (_which, operator) => {
  const { principal } = await letIn({ tenant: { tenantId: 'acme', issuer: '' }, operator });
  expect(principal).toMatchObject({ kind: 'user', tenantId: 'acme', scopes: [read] });
  expect(principal).not.toHaveProperty('everyTenant');
});

it.each([
  ['of an issuer of another tenant', { iss: own }, /another issuer/],
  ['that names another tenant', { tenantId: 'ops' }, /^The application of the access token/],
])('refuses a token %s for a tenant at the shared issuer', async (_what, token, message) => {
  const tenant = { tenantId: 'acme', issuer: '' };
  await expect(letIn({ tenant, token })).rejects.toMatchObject(refused(message));
});

it.each([
  ['application', { application: { status: Status.DISABLED } }, /^The application/],
  ['tenant', { tenant: { tenantId: 'ops', status: Status.DISABLED } }, /^The application/],
  ['person', { user: { status: Status.DISABLED } }, /^The person of the access token is no longer active/],
])('refuses a token whose %s is disabled', async (_what, world, message) => {
  await expect(letIn(world as World)).rejects.toMatchObject(refused(message));
});

it('refuses a person whom the application is not for', async () => {
  const application = { allowedRoles: ['staff'] };
  await expect(letIn({ application })).rejects.toMatchObject(refused(/^The person of the access token/));
  const user = { roles: ['staff', 'tessera.administrator'] };
  expect((await letIn({ application, user })).scopes).toEqual([read]);
});

it.each([
  ['its token does not have', { token: { scope: 'openid' } }, []],
  ['its application no longer has', { application: { scopes: [] } }, []],
  [
    'its application has of another API',
    { application: { scopes: [{ name: read, audience: 'urn:x' }] } },
    [],
  ],
  ['no role of the person has', { user: { roles: ['clerk'] } }, []],
  ['nobody has as a built-in one', { token: { scope: `${read} admin.nothing` } }, [read]],
])('gives no scope that %s', async (_what, world, scopes) => {
  expect((await letIn(world as unknown as World)).scopes).toEqual(scopes);
});

it('takes an unknown application as no longer active, and no answer for no answer', async () => {
  const failing = (code: Code) => ({ failing: new ConnectError('no answer', code) });
  await expect(letIn(failing(Code.NotFound))).rejects.toMatchObject(refused(/^The application/));
  await expect(letIn(failing(Code.Unavailable))).rejects.toMatchObject({ code: Code.Unavailable });
  // The same number means something else in the errors of others.
  const other = Object.assign(new Error('not an answer'), { code: Code.NotFound });
  await expect(letIn({ failing: other })).rejects.toBe(other);
});

it('gives a client no scope that is no built-in one, whatever its application declares', async () => {
  const scopes = [read, 'admin.nothing'].map((name) => ({ name, audience: adminAudience }));
  const token = { sub: 'console', scope: `${read} admin.nothing` };
  const application = { scopes } as unknown as Partial<Application>;
  const { principal, scopes: given } = await letIn({ token, application });
  expect(given).toEqual([read]);
  expect(principal).toMatchObject({ kind: 'client', scopes: [read] });
});

it.each([
  ['neither the client nor a person', { sub: 'somebody' }],
  ['a person who has the identifier of the client', { sub: 'console', authTime: 900n }],
  ['another client', { sub: 'console2' }],
  ['nobody', { sub: '' }],
  ['a person of whom nothing is known', { sub: 'usr_gone' }],
])('refuses a token whose subject is %s', async (_what, token) => {
  await expect(letIn({ token })).rejects.toMatchObject(refused(/^The person of the access token/));
});

it('takes a subject with the ID of a person for one, although its client has the same ID', async () => {
  const application = { clientId: 'usr_root' };
  const { principal, asked } = await letIn({ token: { clientId: 'usr_root' }, application });
  expect(principal).toMatchObject({ kind: 'user', id: 'usr_root' });
  expect(asked).toContainEqual({ tenantId: 'ops', userId: 'usr_root' });
  const gone = { token: { sub: 'usr_gone', clientId: 'usr_gone' }, application: { clientId: 'usr_gone' } };
  await expect(letIn(gone)).rejects.toMatchObject(refused(/^The person of the access token/));
});

it('takes the issuer of the token where no shared one is set, unless its tenant has one of its own', async () => {
  const iss = 'http://localhost:8080';
  expect((await letIn({ issuer: undefined, token: { iss } })).principal).toMatchObject({ everyTenant: true });
  const { principal } = await letIn({
    issuer: undefined,
    tenant: { tenantId: 'acme', issuer: '' },
    token: { iss },
  });
  expect(principal).toMatchObject({ tenantId: 'acme' });
  expect(principal).not.toHaveProperty('everyTenant');
  await expect(letIn({ issuer: undefined, tenant: acme, token: { iss } })).rejects.toMatchObject(
    refused(/another issuer/),
  );
});

it.each([
  ['application', { application: { validFrom: 1_001n } }, /^The application/],
  ['person', { user: { validFrom: 1_001n } }, /^The person/],
])('refuses a token from before a change of its %s', async (_what, world, message) => {
  await expect(letIn(world as World)).rejects.toMatchObject(refused(message));
});

it('knows the application by the client ID of the token, and the tenant by that of the application', async () => {
  const tenant = { tenantId: 'acme', issuer: own };
  const token = { tenantId: 'ops', sub: 'console' };
  await expect(letIn({ tenant, token })).rejects.toMatchObject(refused(/^The application/));
  const { asked } = await letIn({ token: { clientId: 'other' } });
  expect(asked[0]).toEqual({ clientId: 'other' });
});

it.each(['application', 'tenant'] as const)(
  'refuses a token of whose %s nothing is said',
  async (lacking) => {
    await expect(letIn({ lacking })).rejects.toMatchObject(refused(/^The application/));
  },
);
