import { adminScopes } from '@tessera/oauth';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { local, type AuthenticateBearer } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { administered, call, type Administered } from './testing/administered.ts';

/** What a server forgets about who calls it. */
type Overlooked = 'what its callers hold' | 'the scope of a method' | 'the tenant of its callers';

interface Attempt {
  /** A flaw of this kind in the delegated administration of another server. */
  readonly cve: string;
  readonly title: string;
  readonly by: () => Promise<string>;
  readonly method: string;
  readonly request: () => object;
  /** With it the attempt succeeds. */
  readonly overlooked: Overlooked;
}

const everyScope = [...adminScopes.keys()];
const ids = new Map<string, string>();
const idOf = (username: string) => ids.get(username) ?? '';
let on: Administered;
beforeAll(async () => {
  on = await administered();
  on.clock.set(Date.now());
  const people = await local(UsersService, on.directory, 'operator', silentLog()).list(
    { tenantId: 'ops' },
    call(),
  );
  for (const { username, userId } of people.users) ids.set(username, userId);
});

const holding = async (...scopes: string[]) => on.tokenOfClient('ops', scopes);
const ofPeople = async () => holding('admin.users.read', 'admin.users.write');
const ofApplications = async () => holding('admin.applications.read', 'admin.applications.write');
const tool = (fields: object) => ({
  tenantId: 'ops',
  application: {
    clientId: 'tool',
    name: 'Tool',
    type: 'confidential',
    grantTypes: ['client_credentials'],
    ...fields,
  },
});

const attempts: readonly Attempt[] = [
  {
    cve: 'CVE-2026-3121',
    title: 'an administrator of applications makes one that administers people',
    by: ofApplications,
    method: 'ApplicationsService/Create',
    request: () => tool({ scopes: ['admin.users.write'] }),
    overlooked: 'what its callers hold',
  },
  {
    cve: 'CVE-2026-4629',
    title: 'an administrator of applications maps a claim from the roles of people',
    by: ofApplications,
    method: 'ApplicationsService/Create',
    request: () => tool({ claims: { groups: { roles: true, targets: ['accessToken'] } } }),
    overlooked: 'what its callers hold',
  },
  {
    cve: 'CVE-2026-9099',
    title: 'who may change people gives somebody a role above their own',
    by: ofPeople,
    method: 'UsersService/Update',
    request: () => ({
      tenantId: 'ops',
      user: { userId: idOf('helper'), roles: ['tessera.helpdesk', 'tessera.administrator'] },
      takeOver: true,
    }),
    overlooked: 'what its callers hold',
  },
  {
    cve: 'CVE-2026-9795',
    title: 'an administrator of applications gives one a scope of an API',
    by: ofApplications,
    method: 'ApplicationsService/Create',
    request: () => tool({ scopes: ['orders.read'] }),
    overlooked: 'what its callers hold',
  },
  {
    cve: 'CVE-2026-14209',
    title: 'somebody who may change people, but not see them, reads them by another method',
    by: async () => holding(...everyScope.filter((scope) => scope !== 'admin.users.read')),
    method: 'UsersService/ListDeleted',
    request: () => ({ tenantId: 'ops' }),
    overlooked: 'the scope of a method',
  },
  {
    cve: 'CVE-2026-14613',
    title: 'somebody who sees roles sees the people who have them',
    by: async () => holding('admin.roles.read'),
    method: 'UsersService/List',
    request: () => ({ tenantId: 'ops' }),
    overlooked: 'the scope of a method',
  },
  {
    cve: 'CVE-2026-14614',
    title: 'an administrator of applications lets one introspect the tokens of an API',
    by: ofApplications,
    method: 'ApplicationsService/Create',
    request: () => tool({ introspectAudiences: ['https://orders.example'] }),
    overlooked: 'what its callers hold',
  },
  {
    cve: 'CVE-2026-14615',
    title: 'an administrator of one tenant sees another in the list of all',
    by: async () => on.tokenOfClient('globex'),
    method: 'TenantsService/List',
    request: () => ({}),
    overlooked: 'the tenant of its callers',
  },
  {
    cve: 'CVE-2026-16106',
    title: 'who may change people takes a role from an administrator',
    by: ofPeople,
    method: 'UsersService/Update',
    request: () => ({
      tenantId: 'ops',
      user: { userId: idOf('root') },
      updateMask: 'roles',
      takeOver: true,
    }),
    overlooked: 'what its callers hold',
  },
  {
    cve: 'of no CVE',
    title: 'who may change people gives somebody an attribute that applications are told of',
    by: ofPeople,
    method: 'UsersService/Update',
    request: () => ({
      tenantId: 'ops',
      user: { userId: idOf('helper'), attributes: { clearance: 'all' } },
      takeOver: true,
    }),
    overlooked: 'what its callers hold',
  },
  {
    cve: 'of no CVE',
    title: 'an administrator of one tenant asks for passkeys of the shared host',
    by: async () => on.tokenOfClient('globex'),
    method: 'TenantsService/Update',
    request: () => ({
      tenantId: 'globex',
      tenant: { passkeyDomain: 'shared' },
      updateMask: 'passkeyDomain',
      takeOver: true,
    }),
    overlooked: 'the tenant of its callers',
  },
];

const ask = async ({ method, request }: Attempt, token: string, fields = {}, at?: string) =>
  on.post(`tessera.admin.v1.${method}`, { ...request(), ...fields }, token, at);

describe('refused is that', () => {
  it.each(attempts.map((attempt) => [attempt.title, attempt.cve, attempt] as const))(
    '%s (%s)',
    async (_title, _cve, attempt) => {
      // With it may come the keys of its tenant.
      const token = await attempt.by();
      const before = await on.everything();
      const { status, body } = await ask(attempt, token);
      expect([status, body['code']]).toEqual([403, 'permission_denied']);
      expect(JSON.stringify(body)).not.toMatch(/root|usr_|Acme/);
      expect(await on.everything()).toBe(before);
    },
  );
});

describe('each of these tests', () => {
  const defects: Readonly<Record<Overlooked, (bearer: AuthenticateBearer) => AuthenticateBearer>> = {
    'what its callers hold': (bearer) => async (token, context) => {
      const identity = await bearer(token, context);
      return { ...identity, principal: { ...identity.principal, scopes: everyScope } };
    },
    'the scope of a method': (bearer) => async (token, context) => ({
      ...(await bearer(token, context)),
      scopes: everyScope,
    }),
    'the tenant of its callers': (bearer) => async (token, context) => {
      const identity = await bearer(token, context);
      return { ...identity, principal: { ...identity.principal, everyTenant: true } };
    },
  };

  it.each(attempts.map((attempt) => [attempt.cve, attempt.overlooked, attempt] as const))(
    'fails where a server overlooks what is refused: %s, %s',
    async (_cve, overlooked, attempt) => {
      const routes = on.admin.routes.map((route) => {
        if (route.bearer === undefined) throw new Error(`${route.service.typeName} takes no access tokens`);
        return { ...route, bearer: defects[overlooked](route.bearer) };
      });
      const at = await on.serve({ ...on.admin, routes });
      const writes = !attempt.method.includes('/List');
      const answer = await ask(attempt, await attempt.by(), writes ? { validateOnly: true } : {}, at);
      expect(answer).toMatchObject({ status: 200 });
    },
  );
});
