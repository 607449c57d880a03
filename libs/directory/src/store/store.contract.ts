import { createHash } from 'node:crypto';
import type { AuditEvent } from '@tessera/audit';
import type { Database } from '@tessera/stores';
import { beforeAll, describe, expect, it } from 'vitest';
import { listSecrets } from '../applications/read.postgres.ts';
import { setStatus } from '../testing/status-by-call.ts';
import { changesOf, countPlan, planTenant } from '../plans/plan.ts';
import { eventsOf } from '../plans/plan-events.ts';
import type { ApplicationRecord } from '../applications/fields.ts';
import type { RoleRecord } from '../roles/fields.ts';
import { noLooks } from '../tenants/looks.ts';
import type { UserRecord } from '../users/fields.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import type { AdminStore, Decide, DirectoryStore } from './store.ts';
import type { ChangeStore } from '../feed/change-store.ts';

export interface Stores {
  readonly store: DirectoryStore;
  readonly changes: ChangeStore;
  readonly admin: AdminStore;
  readonly database: Database;
}

export function testUser(name: string, fields: Partial<UserRecord> = {}): UserRecord {
  return {
    declaredTotp: undefined,
    declaredPasskeys: undefined,
    declaredIdentities: undefined,
    userId: `usr_${name}`,
    owner: 'file',
    username: name,
    email: `${name}@acme.example`,
    name: name.toUpperCase(),
    phoneNumber: '',
    standardClaims: {},
    attributes: {},
    roles: [],
    status: 'active',
    passwordHash: undefined,
    ...fields,
  };
}

export function testApplication(
  clientId: string,
  fields: Partial<ApplicationRecord> = {},
): ApplicationRecord {
  return {
    clientId,
    owner: 'file',
    name: clientId,
    description: 'Sells',
    descriptions: { de: 'Verkauft', ar: 'يبيع' },
    publisher: 'Acme',
    homepage: 'https://acme.example/',
    type: 'confidential',
    status: 'active',
    grantTypes: ['authorization_code', 'ciba'],
    redirectUris: ['https://z.example/', 'https://a.example/'],
    logoutRedirectUris: ['https://z.example/out', 'https://a.example/out'],
    redirectUriPrefixes: ['https://z.example/app/', 'https://a.example/'],
    logoutRedirectUriPrefixes: ['https://z.example/out/'],
    scopes: ['write', 'openid', 'read'],
    defaultScopes: ['read'],
    audiences: ['account'],
    introspectAudiences: ['https://api.example'],
    lifetimes: {
      accessToken: 60,
      idToken: 0,
      refreshTokenIdle: 7,
      refreshTokenAbsolute: 8,
      sessionRefreshTokenIdle: 12,
      sessionRefreshTokenAbsolute: 13,
      authorizationRequest: 9,
      authorizationCode: 10,
      pollInterval: 11,
    },
    ciba: {
      approval: 'webhook',
      url: 'https://a.example/approve',
      delivery: 'ping',
      notificationEndpoint: 'https://a.example/notifications',
    },
    authenticatedStart: 'required',
    allowedRoles: ['manager', 'clerk'],
    pkce: 'optional',
    backchannelLogoutUri: 'https://app.example/logout',
    backchannelLogoutSessionRequired: true,
    idTokenClaims: ['profile', 'email'],
    thirdParty: true,
    loopbackPorts: 'any',
    roles: ['clerk'],
    owners: ['api', 'orders', 'k8s:shop/*'],
    authenticationPolicy: 'phishing-resistant',
    claims: {
      groups: { roles: true, targets: ['idToken'] },
      department: { attribute: 'department', targets: ['userinfo', 'accessToken'] },
    },
    publicKeys: [],
    jwksUri: '',
    trusts: [],
    idTokenSigningAlgorithm: 'RS256',
    secrets: [],
    ...fields,
  };
}

const defaults = {
  owner: 'file',
  tokenType: 'at+jwt',
  scopeFormat: 'array',
  signingAlgorithm: 'RS256',
  assignableBy: new Array<string>(),
  roles: new Array<string>(),
} as const;

export function testRoles(...names: readonly string[]): RoleRecord[] {
  return names.map((name) => ({ name, owner: 'file' }));
}

export function testTenant(tenantId: string, fields: Partial<TenantState> = {}): TenantState {
  return {
    tenant: {
      tenantId,
      owner: 'file',
      name: tenantId,
      status: 'active',
      issuer: '',
      endpoints: 'standard',
      authenticationPolicy: 'any',
      passkeyDomain: 'own',
      registration: 'closed',
      registrationDomains: [],
      accountClosing: false,
      signInMethods: [],
      looks: noLooks,
    },
    resources: [
      {
        audience: 'https://api.example',
        owner: 'file',
        name: 'API',
        shared: true,
        assignableBy: ['owner', 'k8s:shop/*'],
        scopes: [
          { name: 'read', description: 'See', descriptions: { de: 'Sehen' } },
          { name: 'write', description: '', descriptions: {} },
        ],
        tokenType: 'JWT',
        scopeFormat: 'string',
        signingAlgorithm: 'ES256',
        roles: ['manager'],
      },
    ],
    roles: testRoles('manager', 'clerk'),
    providers: [],
    users: [
      testUser('ada', {
        roles: ['manager', 'clerk'],
        phoneNumber: '+46701234567',
        attributes: { department: 'Engines', teams: ['one', 'two'] },
        standardClaims: { givenName: 'Ada', emailVerified: false, address: { country: 'GB' } },
      }),
      testUser('bob'),
    ],
    applications: [testApplication(`${tenantId}-web`)],
    ...fields,
  };
}

/** What every store of the directory must do. Each test has tenants of its own. */
export function directoryStoreContract(engine: string, open: () => Promise<Stores>): void {
  describe(`the directory's store on ${engine}`, () => {
    let stores: Stores;
    let count = 0;
    const fresh = () => `t${(count += 1)}`;

    beforeAll(async () => {
      stores = await open();
    });

    async function make(desired: TenantState) {
      const { tenantId } = desired.tenant;
      return stores.admin.changeTenant(tenantId, (current) => {
        const plan = planTenant(current, desired);
        return { plan, changes: changesOf(plan), events: eventsOf(plan, {}) };
      });
    }

    async function audited(tenantId: string): Promise<string[]> {
      const { rows } = await stores.database.query<{ event: string }>({
        name: 'test.audited',
        text: 'SELECT event FROM directory.audit_event WHERE tenant_id = $1 ORDER BY recorded_at',
        values: [tenantId],
      });
      return rows.map(({ event }) => event);
    }

    it('stores a tenant as declared, and detects that nothing differs', async () => {
      const desired = testTenant(fresh());
      await make(desired);
      const before = await stores.changes.newestChange();
      const again = await make(desired);
      expect(again).toMatchObject({
        plan: { tenant: 'unchanged', users: { updated: [] }, applications: { updated: [] } },
      });
      expect(await stores.changes.newestChange()).toBe(before);
    });

    it('reads a whole tenant back as declared', async () => {
      const desired = testTenant(fresh());
      expect(await stores.admin.tenantState(desired.tenant.tenantId)).toBeUndefined();
      await make(desired);
      const state = await stores.admin.tenantState(desired.tenant.tenantId);
      expect(countPlan(planTenant(state, desired))).toEqual({ created: 0, updated: 0, deleted: 0 });
    });

    it('reads of the people those alone who have one of some names, if it is asked for these', async () => {
      const tenantId = fresh();
      const users = [
        testUser('ada', { email: 'countess@acme.example' }),
        testUser('bob', { standardClaims: { preferredUsername: 'Robert' } }),
        testUser('cleo'),
      ];
      await make(testTenant(tenantId, { users }));
      const namesIn = (state: TenantState | undefined) =>
        state?.users.map(({ username }) => username).toSorted();
      const named = async (...names: string[]) => namesIn(await stores.admin.tenantState(tenantId, names));
      expect(await named('countess@acme.example', 'robert', 'nobody')).toEqual(['ada', 'bob']);
      expect(await named()).toEqual([]);
      const seen: (TenantState | undefined)[] = [];
      const decide: Decide = (current) => {
        seen.push(current);
        return undefined;
      };
      expect(await stores.admin.changeTenant(tenantId, decide, ['cleo'])).toEqual({ kind: 'stale' });
      expect(seen.map((state) => [namesIn(state), state?.roles.length])).toEqual([[['cleo'], 2]]);
    });

    it('finds an application with its tenant, and its scopes in declared order', async () => {
      const tenantId = fresh();
      await make(testTenant(tenantId));
      const { secrets: _, ...application } = testApplication(`${tenantId}-web`);
      const ofApi = {
        audience: 'https://api.example',
        resourceName: 'API',
        tokenType: 'JWT',
        scopeFormat: 'string',
        signingAlgorithm: 'ES256',
        roles: ['manager'],
      };
      expect(await stores.store.findApplication(`${tenantId}-web`)).toEqual({
        application,
        tenant: {
          tenantId,
          owner: 'file',
          name: tenantId,
          status: 'active',
          issuer: '',
          endpoints: 'standard',
          authenticationPolicy: 'any',
          passkeyDomain: 'own',
          registration: 'closed',
          registrationDomains: [],
          accountClosing: false,
          signInMethods: [],
          looks: noLooks,
        },
        validFrom: 0,
        scopes: [
          { name: 'write', ...ofApi, description: '', descriptions: {} },
          {
            name: 'openid',
            audience: '',
            description: '',
            descriptions: {},
            resourceName: '',
            tokenType: '',
            scopeFormat: '',
            signingAlgorithm: '',
            roles: [],
          },
          { name: 'read', ...ofApi, description: 'See', descriptions: { de: 'Sehen' } },
        ],
      });
    });

    it('finds a user by id and by every identifier, only within the tenant', async () => {
      const [one, other] = [fresh(), fresh()];
      await make(testTenant(one));
      await make(testTenant(other, { users: [testUser('eve')], roles: [] }));
      const ada = await stores.store.findUser(one, 'usr_ada');
      expect(ada?.user.roles).toEqual(['manager', 'clerk']);
      for (const identifier of ['ada', 'ada@acme.example', '+46701234567']) {
        expect(await stores.store.findUserByIdentifier(one, identifier)).toEqual(ada);
        expect(await stores.store.findUserByIdentifier(other, identifier)).toBeUndefined();
      }
      expect(await stores.store.findUser(other, 'usr_ada')).toBeUndefined();
      expect(await stores.store.findUsers(one, ['usr_ada', 'usr_nobody'])).toEqual([ada]);
      expect(await stores.store.findUsers(other, ['usr_ada'])).toEqual([]);
    });

    it('finds a tenant by its id alone', async () => {
      const desired = testTenant(fresh());
      await make(desired);
      expect(await stores.store.findTenant(desired.tenant.tenantId)).toEqual(desired.tenant);
      for (const tenantId of ['', 'nobody', desired.tenant.tenantId.toUpperCase()]) {
        expect(await stores.store.findTenant(tenantId)).toBeUndefined();
      }
    });

    it('keeps the same user name and address in two tenants as two people', async () => {
      const [one, other] = [fresh(), fresh()];
      await make(testTenant(one, { users: [testUser('ada', { userId: 'usr_1' })] }));
      await make(testTenant(other, { users: [testUser('ada', { userId: 'usr_2' })] }));
      expect((await stores.store.findUserByIdentifier(one, 'ada'))?.user.userId).toBe('usr_1');
      expect((await stores.store.findUserByIdentifier(other, 'ada'))?.user.userId).toBe('usr_2');
    });

    it('returns the secrets that are valid by its own clock, and records their use', async () => {
      const tenantId = fresh();
      const clientId = `${tenantId}-web`;
      const year = 31_536_000_000;
      const later = Math.floor(Date.now() / 1000) * 1000 + year;
      const secrets = [
        { digest: 'current', expiresAt: undefined },
        { digest: 'next', expiresAt: later },
      ];
      await make(testTenant(tenantId, { applications: [testApplication(clientId, { secrets })] }));
      const found = await stores.store.findSecrets(clientId);
      expect(found?.secrets.toSorted((a, b) => a.digest.localeCompare(b.digest))).toEqual(secrets);
      const usedAt = Date.now() - year;
      await stores.store.noteSecretUses([{ tenantId, clientId, digest: 'next', usedAt }]);
      await stores.store.noteSecretUses([{ tenantId, clientId, digest: 'next', usedAt: usedAt - 5_000 }]);
      const listed = await listSecrets(stores.database, clientId);
      expect(listed?.map(({ expiresAt, lastUsedAt }) => [expiresAt, lastUsedAt])).toEqual([
        [undefined, undefined],
        [later, usedAt],
      ]);
      const past = [{ digest: 'current', expiresAt: Date.now() - 1_000 }];
      await make(testTenant(tenantId, { applications: [testApplication(clientId, { secrets: past })] }));
      expect(await stores.store.findSecrets(clientId)).toEqual({ tenantId, secrets: [] });
      expect(await stores.store.findSecrets('unknown')).toBeUndefined();
    });

    it('lists all secrets by age, expired ones included, and those of one change in declared order', async () => {
      const tenantId = fresh();
      const clientId = `${tenantId}-web`;
      const bare = `${tenantId}-bare`;
      // The use tells which is which, as digests are not listed.
      const secretId = expect.stringMatching(/^[\w-]{22}$/) as string;
      const uses = new Map(['z', 'm', 'a', 'n'].map((digest, index) => [digest, 1_000 * (index + 1)]));
      const declare = async (...digests: string[]) => {
        const secrets = digests.map((digest) => ({ digest, expiresAt: digest === 'm' ? 5_000 : undefined }));
        const applications = [testApplication(clientId, { secrets }), testApplication(bare)];
        await make(testTenant(tenantId, { applications }));
        await stores.store.noteSecretUses(
          digests.map((digest) => ({ tenantId, clientId, digest, usedAt: uses.get(digest) ?? 0 })),
        );
        return listSecrets(stores.database, clientId);
      };
      const before = Date.now();
      const first = await declare('z', 'm');
      expect(first).toEqual([
        { secretId, createdAt: expect.any(Number) as number, expiresAt: undefined, lastUsedAt: 1_000 },
        { secretId, createdAt: expect.any(Number) as number, expiresAt: 5_000, lastUsedAt: 2_000 },
      ]);
      for (const { createdAt } of first ?? []) expect(Math.abs(createdAt - before)).toBeLessThan(60_000);
      expect((await declare('a', 'z'))?.map(({ lastUsedAt }) => lastUsedAt)).toEqual([1_000, 3_000]);
      expect((await declare('n', 'a'))?.map(({ lastUsedAt }) => lastUsedAt)).toEqual([3_000, 4_000]);
      expect(await listSecrets(stores.database, bare)).toEqual([]);
      expect(await listSecrets(stores.database, 'unknown')).toBeUndefined();
    });

    it('changes everything that may change: swaps names, moves scopes, removes roles and resources', async () => {
      const tenantId = fresh();
      await make(testTenant(tenantId));
      const after = testTenant(tenantId, {
        resources: [
          {
            audience: 'https://new.example',
            owner: 'file',
            name: 'New',
            shared: true,
            assignableBy: ['tenant'],
            scopes: [{ name: 'read', description: 'Look', descriptions: {} }],
            tokenType: 'at+jwt',
            scopeFormat: 'array',
            signingAlgorithm: 'RS256',
            roles: [],
          },
        ],
        roles: testRoles('clerk'),
        users: [
          testUser('ada', { username: 'bob', email: 'bob@acme.example', roles: ['clerk'] }),
          testUser('bob', { username: 'ada', email: 'ada@acme.example', passwordHash: 'hash' }),
        ],
        applications: [
          testApplication(`${tenantId}-web`, {
            scopes: ['read'],
            introspectAudiences: ['https://new.example'],
            allowedRoles: ['clerk'],
            pkce: 'required',
            claims: {},
          }),
        ],
      });
      await make(after);
      expect((await stores.store.findUserByIdentifier(tenantId, 'ada'))?.user.userId).toBe('usr_bob');
      const found = await stores.store.findApplication(`${tenantId}-web`);
      expect(found?.scopes).toEqual([
        {
          name: 'read',
          audience: 'https://new.example',
          description: 'Look',
          descriptions: {},
          resourceName: 'New',
          tokenType: 'at+jwt',
          scopeFormat: 'array',
          signingAlgorithm: 'RS256',
          roles: [],
        },
      ]);
      expect(found?.application.allowedRoles).toEqual(['clerk']);
      expect(found?.application.pkce).toBe('required');
      expect(found?.application.claims).toEqual({});
      expect([...(await stores.admin.passwordHashes(tenantId, ['ada']))]).toEqual([
        ['ada', { userId: 'usr_bob', hash: 'hash', imported: undefined }],
      ]);
      const again = await make(after);
      expect(again.kind === 'done' ? changesOf(again.plan) : 'taken').toEqual([]);
    });

    it('removes what is no longer desired', async () => {
      const tenantId = fresh();
      await make(testTenant(tenantId));
      await make(testTenant(tenantId, { users: [], applications: [], roles: [], resources: [] }));
      expect(await stores.store.findUser(tenantId, 'usr_ada')).toBeUndefined();
      expect(await stores.store.findUserByIdentifier(tenantId, 'ada')).toBeUndefined();
      expect(await stores.store.findApplication(`${tenantId}-web`)).toBeUndefined();
      expect((await audited(tenantId)).toSorted()).toEqual(
        [
          'tenant.created',
          ...Array.from({ length: 6 }, () => 'config.changed'),
          'client.created',
          'user.created',
          'user.created',
          'client.deleted',
          'user.deleted',
          'user.deleted',
        ].toSorted(),
      );
    });

    it('writes nothing if a client id belongs to another tenant', async () => {
      const [one, other] = [fresh(), fresh()];
      await make(testTenant(one));
      const result = await make(testTenant(other, { applications: [testApplication(`${one}-web`)] }));
      expect(result).toEqual({ kind: 'taken', values: [{ kind: 'clientId', value: `${one}-web` }] });
      expect(await stores.store.findUser(other, 'usr_ada')).toBeUndefined();
      expect(await audited(other)).toEqual([]);
    });

    it('writes nothing if an issuer belongs to another tenant, whatever its scheme', async () => {
      const [one, other] = [fresh(), fresh()];
      const withIssuer = (tenantId: string, issuer: string) =>
        make(
          testTenant(tenantId, {
            tenant: {
              tenantId,
              owner: 'file',
              name: tenantId,
              status: 'active',
              issuer,
              endpoints: 'standard',
              authenticationPolicy: 'any',
              passkeyDomain: 'own',
              registration: 'closed',
              registrationDomains: [],
              accountClosing: false,
              signInMethods: [],
              looks: noLooks,
            },
          }),
        );
      await withIssuer(one, `http://localhost/${one}`);
      expect(await withIssuer(other, `https://localhost/${one}`)).toEqual({
        kind: 'taken',
        values: [{ kind: 'issuer', value: `http://localhost/${one}` }],
      });
      await withIssuer(other, `https://localhost/${other}`);
      const { issuers } = await stores.store.tenantIssuers();
      const facts = { passkeyDomain: 'own', endpoints: 'standard', signingAlgorithms: ['ES256'] };
      expect(issuers).toEqual(
        expect.arrayContaining([
          { tenantId: one, issuer: `http://localhost/${one}`, ...facts },
          { tenantId: other, issuer: `https://localhost/${other}`, ...facts },
        ]),
      );
    });

    it('writes nothing if a tenant of the same issuer has an audience and one of them does not share it', async () => {
      const [one, other] = [fresh(), fresh()];
      const audience = `https://${one}.example`;
      const declaring = (tenantId: string, shared: boolean) =>
        make(
          testTenant(tenantId, {
            resources: [{ audience, name: 'API', shared, scopes: [], ...defaults }],
            applications: [],
          }),
        );
      const taken = { kind: 'taken', values: [{ kind: 'audience', value: audience }] };
      await declaring(one, false);
      expect(await declaring(other, false)).toEqual(taken);
      expect(await declaring(other, true)).toEqual(taken);
      await declaring(one, true);
      expect(await declaring(other, false)).toEqual(taken);
      expect(await declaring(other, true)).toMatchObject({ kind: 'done' });
    });

    it('writes nothing if a JWT audience is the client id of another tenant, in either order', async () => {
      const [one, other, third, plain] = [fresh(), fresh(), fresh(), fresh()];
      const withResource = (tenantId: string, audience: string, tokenType: 'JWT' | 'at+jwt') => {
        const resource = { audience, name: 'API', shared: false, scopes: [], ...defaults, tokenType };
        return make(testTenant(tenantId, { resources: [resource], applications: [] }));
      };
      await make(testTenant(one));
      expect(await withResource(other, `${one}-web`, 'JWT')).toEqual({
        kind: 'taken',
        values: [{ kind: 'audienceAsClientId', value: `${one}-web` }],
      });
      // At one issuer also others: not every verifier of ID tokens looks at `typ`.
      expect(await withResource(other, `${one}-web`, 'at+jwt')).toEqual({
        kind: 'taken',
        values: [{ kind: 'audienceAsClientId', value: `${one}-web` }],
      });
      await withResource(plain, `${plain}-api`, 'at+jwt');
      const named = [testApplication(`${plain}-api`)];
      expect(await make(testTenant(one, { applications: named }))).toEqual({
        kind: 'taken',
        values: [{ kind: 'clientIdAsAudience', value: `${plain}-api` }],
      });
      const { tenant } = testTenant(one);
      const elsewhere = { ...tenant, issuer: `https://${one}.example` };
      expect(await make(testTenant(one, { tenant: elsewhere, applications: named }))).toMatchObject({
        kind: 'done',
      });
      await withResource(third, `${third}-api`, 'JWT');
      const applications = [testApplication(`${third}-api`)];
      expect(await make(testTenant(one, { applications }))).toEqual({
        kind: 'taken',
        values: [{ kind: 'clientIdAsAudience', value: `${third}-api` }],
      });
    });

    it('writes a change completely or not at all', async () => {
      const tenantId = fresh();
      await make(testTenant(tenantId));
      const before = await stores.changes.newestChange();
      const broken = testTenant(tenantId, {
        tenant: {
          tenantId,
          owner: 'file',
          name: 'renamed',
          status: 'active',
          issuer: '',
          endpoints: 'standard',
          authenticationPolicy: 'any',
          passkeyDomain: 'own',
          registration: 'closed',
          registrationDomains: [],
          accountClosing: false,
          signInMethods: [],
          looks: noLooks,
        },
        users: [testUser('ada'), testUser('copy', { email: 'ada@acme.example' })],
      });
      await expect(make(broken)).rejects.toThrow();
      expect((await stores.store.findApplication(`${tenantId}-web`))?.tenant.name).toBe(tenantId);
      expect(await stores.changes.newestChange()).toBe(before);
    });

    it('sets a status with its change and audit row in one commit', async () => {
      const tenantId = fresh();
      await make(testTenant(tenantId));
      const start = await stores.changes.newestChange();
      const application = { kind: 'application', tenantId, id: `${tenantId}-web` } as const;
      await setStatus(stores.database, { kind: 'user', tenantId, id: 'usr_ada', status: 'locked' });
      await setStatus(stores.database, { ...application, status: 'disabled' });
      await setStatus(stores.database, { kind: 'tenant', tenantId, status: 'disabled' });
      expect((await stores.store.findUser(tenantId, 'usr_ada'))?.user.status).toBe('locked');
      expect((await stores.store.findApplication(`${tenantId}-web`))?.application.status).toBe('disabled');
      const changes = await stores.changes.changesAfter(start, 100);
      expect(changes.map(({ kind, id, ended }) => [kind, id, ended])).toEqual([
        ['user', 'usr_ada', true],
        ['application', `${tenantId}-web`, true],
        ['tenant', '', true],
      ]);
      expect((await audited(tenantId)).slice(-3)).toEqual([
        'user.locked',
        'client.disabled',
        'tenant.suspended',
      ]);
    });

    it('keeps a revocation on record after it is undone, and revokes what is deleted', async () => {
      const tenantId = fresh();
      await make(testTenant(tenantId));
      const start = await stores.changes.newestChange();
      const user = { kind: 'user', tenantId, id: 'usr_ada' } as const;
      await setStatus(stores.database, { ...user, status: 'disabled' });
      await setStatus(stores.database, { ...user, status: 'active' });
      await make(testTenant(tenantId, { users: [], applications: [] }));
      const changes = await stores.changes.changesAfter(start, 100);
      const facts = changes.map(({ kind, id, ended }) => [kind, id, ended]);
      expect(facts.slice(0, 2)).toEqual([
        ['user', 'usr_ada', true],
        ['user', 'usr_ada', false],
      ]);
      expect(facts.slice(2)).toHaveLength(3);
      expect(facts.slice(2)).toEqual(
        expect.arrayContaining([
          ['application', `${tenantId}-web`, true],
          ['user', 'usr_ada', true],
          ['user', 'usr_bob', true],
        ]),
      );
      for (const { recordedAt } of changes) expect(Math.abs(recordedAt - Date.now() / 1000)).toBeLessThan(60);
    });

    const noted: AuditEvent = { event: 'user.updated', outcome: 'success' };
    const validFromOf = async (tenantId: string, userId = 'usr_ada') =>
      (await stores.store.findUser(tenantId, userId))?.validFrom ?? NaN;
    /** The clock of the records is that of this machine, or the difference would show here. */
    const second = () => Math.floor(Date.now() / 1000);

    it('revokes earlier sign-ins on a change of password or status, and on no other change (REF-7, ASVS 7.4.3)', async () => {
      const tenantId = fresh();
      await make(testTenant(tenantId));
      await make(testTenant(tenantId, { users: [testUser('ada', { name: 'Ada L.' }), testUser('bob')] }));
      expect(await validFromOf(tenantId)).toBe(0);
      const changes: [string, () => Promise<unknown>][] = [
        [
          'lock',
          () => setStatus(stores.database, { kind: 'user', tenantId, id: 'usr_ada', status: 'locked' }),
        ],
        [
          'unlock',
          () => setStatus(stores.database, { kind: 'user', tenantId, id: 'usr_ada', status: 'active' }),
        ],
        ['password', () => make(testTenant(tenantId, { users: [testUser('ada', { passwordHash: 'new' })] }))],
        [
          'disable',
          () =>
            make(
              testTenant(tenantId, { users: [testUser('ada', { passwordHash: 'new', status: 'disabled' })] }),
            ),
        ],
        ['enable', () => make(testTenant(tenantId, { users: [testUser('ada', { passwordHash: 'new' })] }))],
        ['tenant', () => setStatus(stores.database, { kind: 'tenant', tenantId, status: 'disabled' })],
        ['tenant again', () => setStatus(stores.database, { kind: 'tenant', tenantId, status: 'active' })],
      ];
      for (const [name, change] of changes) {
        await stores.database.query({
          name: 'test.forget_valid_from',
          text: `WITH t AS (UPDATE directory.tenant SET valid_from = 0 WHERE tenant_id = $1)
                 UPDATE directory.user_account SET valid_from = 0 WHERE tenant_id = $1`,
          values: [tenantId],
        });
        const earliest = second() + 1;
        await change();
        const validFrom = await validFromOf(tenantId);
        expect([name, validFrom >= earliest, validFrom <= second() + 1]).toEqual([name, true, true]);
      }
      expect(await validFromOf(tenantId, 'usr_bob')).toBeNaN();
    });

    it('replaces only the hash that was compared by the renewed one, and revokes nothing', async () => {
      const tenantId = fresh();
      const ada = { tenantId, userId: 'usr_ada' };
      await make(testTenant(tenantId, { users: [testUser('ada', { passwordHash: 'weak' })] }));
      const renewals = ['a', 'b', 'c', 'd'].map((to) =>
        stores.admin.replacePasswordHash({ ...ada, from: 'weak', to }),
      );
      expect((await Promise.all(renewals)).filter((replaced) => replaced)).toHaveLength(1);
      expect(await stores.admin.replacePasswordHash({ ...ada, from: 'weak', to: 'e' })).toBe(false);
      expect(await validFromOf(tenantId)).toBe(0);
      const stored = (await stores.admin.passwordHashes(tenantId, ['ada'])).get('ada');
      expect(['a', 'b', 'c', 'd']).toContain(stored?.hash);
      expect(stored?.imported).toEqual(createHash('sha256').update('weak').digest());
      expect((await audited(tenantId)).filter((event) => event === 'auth.credential.rehashed')).toHaveLength(
        1,
      );
      await make(testTenant(tenantId, { users: [testUser('ada', { passwordHash: 'another' })] }));
      expect((await stores.admin.passwordHashes(tenantId, ['ada'])).get('ada')?.imported).toBeUndefined();
    });

    it('finds beside a user, or nobody, a password hash of the tenant: always the same for one position, or none', async () => {
      const tenantId = fresh();
      const users = ['b', 'd', 'f'].map((name) => testUser(name, { passwordHash: `hash of ${name}` }));
      await make(testTenant(tenantId, { users: [testUser('a'), ...users] }));
      const find = (identifier: string, position: string, of = tenantId) =>
        stores.store.findForPassword(of, identifier, {
          made: `usr_${position}`,
          given: position,
          prefersGiven: false,
        });
      const at = async (position: string) => (await find('nobody', position)).standIn;
      expect([await at('a'), await at('b'), await at('c'), await at('z')]).toEqual([
        'hash of b',
        'hash of d',
        'hash of d',
        'hash of b',
      ]);
      for (const identifier of ['b', 'b@acme.example']) {
        const found = await stores.store.findUserByIdentifier(tenantId, identifier);
        expect(found?.user.passwordHash).toBe('hash of b');
        expect(await find(identifier, 'e')).toEqual({ found, standIn: 'hash of f' });
      }
      expect(await find('nobody', 'e')).toEqual({ found: undefined, standIn: 'hash of f' });
      for (const identifier of ['b', 'nobody'])
        expect(await find(identifier, 'a', fresh())).toEqual({ found: undefined, standIn: undefined });
    });

    it('finds the stand-in among people who were given their identifier, too', async () => {
      const tenantId = fresh();
      const person = (userId: string) =>
        testUser(`n${userId}`, { userId, passwordHash: `hash of ${userId}`, email: '', phoneNumber: '' });
      const given = ['1', '5', '9'].map(person);
      const at = async (of: string, position: string, prefersGiven: boolean) => {
        const places = { made: `usr_${position}`, given: position, prefersGiven };
        return (await stores.store.findForPassword(of, 'nobody', places)).standIn?.slice('hash of '.length);
      };
      await make(testTenant(tenantId, { users: given }));
      for (const prefersGiven of [true, false])
        for (const [position, found] of [
          ['0', '1'],
          ['3', '5'],
          ['7', '9'],
          ['a', '1'],
        ] as const)
          expect(await at(tenantId, position, prefersGiven)).toBe(found);
      await make(testTenant(tenantId, { users: [...given, person('usr_4'), person('usr_8')] }));
      expect(await at(tenantId, '3', true)).toBe('5');
      expect(await at(tenantId, '3', false)).toBe('usr_4');
    });

    it('revokes the earlier grants of an application that was disabled, enabled, or deleted and recreated (REF-7)', async () => {
      const tenantId = fresh();
      const clientId = `${tenantId}-web`;
      const validFrom = async () => (await stores.store.findApplication(clientId))?.validFrom ?? NaN;
      await make(testTenant(tenantId));
      const target = { kind: 'application', tenantId, id: clientId } as const;
      await setStatus(stores.database, { ...target, status: 'disabled' });
      expect(await validFrom()).toBeGreaterThan(second() - 1);
      await make(testTenant(tenantId, { applications: [] }));
      await make(testTenant(tenantId));
      expect(await validFrom()).toBeGreaterThan(second() - 1);
      await make(
        testTenant(tenantId, {
          applications: [testApplication(clientId), testApplication(`${tenantId}-new`)],
        }),
      );
      expect((await stores.store.findApplication(`${tenantId}-new`))?.validFrom).toBe(0);
    });

    it('orders a sign-in and a concurrent change of password correctly (ASVS 7.4.3)', async () => {
      const tenantId = fresh();
      const user = (passwordHash: string) => testUser('ada', { passwordHash });
      await make(testTenant(tenantId, { users: [user('hash-0')] }));
      for (let round = 1; round <= 15; round += 1) {
        const signIns: { hash: string; at: number }[] = [];
        const signIn = async (hash: string) => {
          const at = await stores.store.confirmSignIn(tenantId, 'usr_ada', hash);
          if (at !== undefined) signIns.push({ hash, at: Math.floor(at / 1000) });
        };
        const [old, next] = [`hash-${round - 1}`, `hash-${round}`];
        let changing = true;
        const keepTrying = async (hash: string) => {
          while (changing) await signIn(hash);
          await signIn(hash);
        };
        const trying = [old, old, next, next].map(keepTrying);
        await signIn(old);
        await make(testTenant(tenantId, { users: [user(next)] }));
        changing = false;
        await Promise.all(trying);
        const validFrom = await validFromOf(tenantId);
        expect(new Set(signIns.map(({ hash }) => hash))).toEqual(new Set([old, next]));
        expect(signIns.filter(({ hash, at }) => at >= validFrom !== (hash === next))).toEqual([]);
      }
      await setStatus(stores.database, { kind: 'user', tenantId, id: 'usr_ada', status: 'locked' });
      expect(await stores.store.confirmSignIn(tenantId, 'usr_ada', 'hash-15')).toBeUndefined();
    });

    it('ends every sign-in before a change, also one that is dated ahead by other changes of the same second (ASVS 7.4.3)', async () => {
      const tenantId = fresh();
      const clientId = `${tenantId}-web`;
      const user = { kind: 'user', tenantId, id: 'usr_ada' } as const;
      const tenant = { kind: 'tenant', tenantId } as const;
      const application = { kind: 'application', tenantId, id: clientId } as const;
      let passwordHash = 'hash-0';
      const put = async () => make(testTenant(tenantId, { users: [testUser('ada', { passwordHash })] }));
      await put();
      const turn = async (target: typeof user | typeof tenant | typeof application) => {
        for (const status of ['disabled', 'active', 'disabled', 'active'] as const)
          await setStatus(stores.database, { ...target, status });
      };
      const changes = {
        user: async () => turn(user),
        tenant: async () => turn(tenant),
        application: async () => turn(application),
        password: async () => {
          passwordHash = `${passwordHash}+`;
          await put();
        },
        epoch: async () => stores.admin.bumpEpoch(tenantId, { ...noted, event: 'epoch.bumped' }),
      };
      const applicationFrom = async () => (await stores.store.findApplication(clientId))?.validFrom ?? NaN;
      for (const [first, change] of Object.entries(changes))
        for (const [second, next] of Object.entries(changes)) {
          await change();
          const confirmed = await stores.store.confirmSignIn(tenantId, 'usr_ada', passwordHash);
          // As `authorize` dates the session.
          const signedInAt = Math.max((confirmed ?? NaN) / 1000, await applicationFrom());
          await next();
          const validFrom = second === 'application' ? await applicationFrom() : await validFromOf(tenantId);
          expect([first, second, signedInAt < validFrom]).toEqual([first, second, true]);
        }
    });

    it('invalidates every earlier sign-in of one tenant or all, notifies watchers and records it (F24)', async () => {
      const [tenantId, other] = [fresh(), fresh()];
      await make(testTenant(tenantId));
      await make(testTenant(other, { users: [testUser('ada', { passwordHash: 'hash' })] }));
      const start = await stores.changes.newestChange();
      const before = Math.floor(Date.now() / 1000);
      const [bumped, ...more] = await stores.admin.bumpEpoch(tenantId, { ...noted, event: 'epoch.bumped' });
      expect([bumped?.tenantId, more]).toEqual([tenantId, []]);
      expect(bumped?.validFrom).toBeGreaterThan(before - 1);
      expect((await stores.store.findUser(tenantId, 'usr_ada'))?.validFrom).toBe(bumped?.validFrom);
      expect((await stores.store.findUser(other, 'usr_ada'))?.validFrom).toBe(0);
      const changes = await stores.changes.changesAfter(start, 100);
      expect(changes.map((change) => [change.kind, change.tenantId, change.ended])).toEqual([
        ['tenant', tenantId, true],
      ]);
      expect((await audited(tenantId)).at(-1)).toBe('epoch.bumped');
      const everywhere = await stores.admin.bumpEpoch(undefined, { ...noted, event: 'epoch.bumped' });
      expect(everywhere.map((epoch) => epoch.tenantId)).toEqual(expect.arrayContaining([tenantId, other]));
      const validFrom = (await stores.store.findUser(other, 'usr_ada'))?.validFrom ?? NaN;
      expect(validFrom).toBeGreaterThan(before - 1);
      const signedInAt = (await stores.store.confirmSignIn(other, 'usr_ada', 'hash')) ?? NaN;
      expect(signedInAt / 1000).toBeGreaterThanOrEqual(validFrom);
      expect(await stores.admin.bumpEpoch('nowhere', noted)).toEqual([]);
    });

    it('reports what a new password revoked, and what was revoked together with a change of the tenant', async () => {
      const tenantId = fresh();
      await make(testTenant(tenantId));
      const changesOf = async (state: TenantState) => {
        const start = await stores.changes.newestChange();
        await make(state);
        const changes = await stores.changes.changesAfter(start, 100);
        return changes.map(({ kind, id, ended }) => `${kind} ${id} ${ended}`).toSorted();
      };
      const people = (passwordHash: string) => [testUser('ada', { passwordHash }), testUser('bob')];
      const applications = [testApplication(`${tenantId}-web`)];
      const roles = testRoles('clerk', 'manager');
      expect(await changesOf(testTenant(tenantId, { users: people('one'), applications, roles }))).toEqual([
        'user usr_ada true',
      ]);
      const renamed = people('one').map((user) => ({ ...user, name: 'X' }));
      const names = await changesOf(testTenant(tenantId, { users: renamed, applications, roles }));
      expect(names).toEqual(['user usr_ada false', 'user usr_bob false']);
      const [ada, bob] = people('two');
      const locked = { ...bob, status: 'locked' } as UserRecord;
      const beside = testTenant(tenantId, {
        users: [ada as UserRecord, locked],
        applications: [],
        roles: testRoles('clerk'),
      });
      expect(await changesOf(beside)).toEqual([
        `application ${tenantId}-web true`,
        'tenant  false',
        'user usr_ada true',
        'user usr_bob true',
      ]);
    });

    it('reports changes in commit order, however many writers there are', async () => {
      const tenantIds = Array.from({ length: 8 }, fresh);
      for (const tenantId of tenantIds) await make(testTenant(tenantId));
      let position = await stores.changes.newestChange();
      const seen: number[] = [];
      let writing = true;
      const reader = (async () => {
        for (let rest = 2; rest > 0; rest -= writing ? 0 : 1) {
          for (const { sequence } of await stores.changes.changesAfter(position, 3)) {
            seen.push(sequence);
            position = sequence;
          }
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      await Promise.all(
        tenantIds.map(async (tenantId) => {
          for (const status of ['disabled', 'active', 'disabled', 'active'] as const) {
            await setStatus(stores.database, { kind: 'tenant', tenantId, status });
          }
        }),
      );
      writing = false;
      await reader;
      for (let drained = false; !drained;) {
        const rest = await stores.changes.changesAfter(position, 100);
        seen.push(...rest.map(({ sequence }) => sequence));
        position = rest.at(-1)?.sequence ?? position;
        drained = rest.length === 0;
      }
      expect(seen).toHaveLength(32);
      expect(seen).toEqual(seen.toSorted((left, right) => left - right));
    });

    it('knows the position from which the feed can resume', async () => {
      await make(testTenant(fresh()));
      const newest = await stores.changes.newestChange();
      expect(await stores.changes.canResumeAfter(newest)).toBe(true);
      expect(await stores.changes.canResumeAfter(newest + 1_000)).toBe(false);
    });

    it('ends in one state if the same tenant is created many times concurrently', async () => {
      const tenantId = fresh();
      const results = await Promise.all(Array.from({ length: 6 }, () => make(testTenant(tenantId))));
      const created = results.filter((result) => result.kind === 'done' && result.plan.tenant === 'created');
      expect(created).toHaveLength(1);
      expect((await audited(tenantId)).filter((event) => event === 'tenant.created')).toHaveLength(1);
    });

    it('drops changes older than a week with the next write', async () => {
      await make(testTenant(fresh()));
      const old = await stores.changes.newestChange();
      await stores.database.query({
        name: 'test.age',
        text: `UPDATE directory.change SET recorded_at = recorded_at - interval '8 days' WHERE sequence <= $1`,
        values: [old],
      });
      await make(testTenant(fresh()));
      expect(await stores.changes.canResumeAfter(old - 1)).toBe(false);
      expect(await stores.changes.newestChange()).toBeGreaterThan(old);
    });

    it('finds the position of a time, even if the first change since then is the oldest on record', async () => {
      const before = await stores.changes.newestChange();
      const hourAgo = Date.now() / 1000 - 3600;
      await make(testTenant(fresh()));
      const made = [...(await stores.changes.changesAfter(before, 100))];
      for (const interval of ['2 hours', '8 days']) {
        await stores.database.query({
          name: `test.age.${interval}`,
          text: `UPDATE directory.change SET recorded_at = clock_timestamp() - interval '${interval}' WHERE sequence <= $1`,
          values: [before],
        });
        const position = await stores.changes.positionBefore(hourAgo);
        expect(await stores.changes.canResumeAfter(position)).toBe(true);
        expect(await stores.changes.changesAfter(position, 100)).toEqual(made);
        await make(testTenant(fresh()));
        made.push(...(await stores.changes.changesAfter(made.at(-1)?.sequence ?? 0, 100)));
      }
      const position = await stores.changes.positionBefore(hourAgo);
      expect(await stores.changes.canResumeAfter(position)).toBe(true);
      expect(await stores.changes.changesAfter(position, 100)).toEqual(made);
      expect(await stores.changes.positionBefore(hourAgo + 7200)).toBe(await stores.changes.newestChange());
      const newest = await stores.changes.newestChange();
      expect(await stores.changes.positionBefore(2 ** 63), 'in no year of the database').toBe(newest);
      expect(await stores.changes.canResumeAfter(2 ** 63)).toBe(false);
    });
  });
}
