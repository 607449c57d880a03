import { createHash } from 'node:crypto';
import { loadConfig } from '@tessera/process';
import {
  declaredAccess,
  local,
  rootCall,
  type BuiltService,
  type CallerName,
  type DescService,
} from '@tessera/rpc';
import { type Database } from '@tessera/stores';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { BootstrapService, DirectoryService } from '@tessera/proto-gen/directory';
import { PlanService } from '@tessera/proto-gen/plan';
import { silentLog, testDatabase, testRuntime } from '@tessera/test-kit';
import { migrations } from '@tessera/directory';
import { declaredFiles } from '@tessera/directory/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildDirectory, directoryProcessConfig } from './index.ts';

const call = () => rootCall('a-request', 30_000);

const built: BuiltService[] = [];
let database: Database;

beforeAll(async () => {
  database = await testDatabase(migrations);
});
afterAll(async () => {
  await Promise.all(built.map((service) => service.close()));
});

/** One more directory process on the same database. */
function start() {
  const pepper = createHash('sha256').update('p').digest('base64');
  const config = loadConfig(directoryProcessConfig, { TESSERA_DIRECTORY_PEPPER: pepper });
  const runtime = testRuntime({ database, log: silentLog() });
  const service = buildDirectory(config, {}, runtime);
  built.push(service);
  const operator = <S extends DescService>(of: S) => local(of, service, 'operator', runtime.log);
  return {
    service,
    files: declaredFiles(operator(DeclaredStateService)),
    as: (caller: CallerName) => local(DirectoryService, service, caller, runtime.log),
  };
}

/** A tenant with one person, one confidential and one public application; keys may be added to each. */
function tenant(id: string, keys: { user?: string; application?: string; tenant?: string } = {}): string {
  return `
  - id: ${id}
    name: ${id}
    ${keys.tenant ?? ''}
    resources: [{ audience: https://api.${id}.example, name: API, scopes: [read] }]
    roles: [clerk]
    users:
      - username: ada
        email: ada@${id}.example
        phoneNumber: '+46701234567'
        roles: [clerk]
        ${keys.user ?? 'password: correct horse'}
    applications:
      - clientId: ${id}-service
        name: Service
        type: confidential
        grantTypes: [client_credentials]
        scopes: [read]
        ${keys.application ?? `secrets: [{ value: ${id}-secret-of-at-least-32-characters }]`}
      - { clientId: ${id}-spa, name: SPA, type: public, grantTypes: [device_code], scopes: [openid] }`;
}

async function apply(directory: ReturnType<typeof start>, ...tenants: string[]) {
  const document = `tenants:${tenants.join('')}\n`;
  return directory.files.apply({ document, fileName: 'state.yaml', allowDelete: true }, call());
}

describe('people', () => {
  const asked = { tenantId: 'people', identifier: 'ada', password: 'correct horse' };

  it('are found by user name, e-mail address and phone number, in any case', async () => {
    const directory = start();
    await apply(directory, tenant('people'));
    for (const identifier of ['ada', 'ADA', 'Ada@People.example', '+46 70-123 45 67']) {
      const { user } = await directory.as('authorize').verifyPassword({ ...asked, identifier }, call());
      expect(user?.username).toBe('ada');
    }
  });

  it.each([
    ['argon2id', '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'],
    ['pbkdf2', '$pbkdf2-sha256$6400$k/Ie45wTQug9pzRmLEWIUQ$QzseQm8a5Aehjo1FqzwfzeC61d.9BSvOj7Gq4ZLSghE'],
    ['bcrypt', '$2b$05$.RJJ/wIRZRZBMkucu0aRhOPh7UUbVqzjNn1gCQbrnVW13z9Zou2.O'],
  ])(
    'get our hash after the first sign-in; no session ends, and applying %s again keeps it',
    async (algorithm, imported) => {
      const directory = start();
      const tenantId = `moved-${algorithm}`;
      const declared = tenant(tenantId, { user: `passwordHash: ${imported}` });
      await apply(directory, declared);
      const hash = async () => {
        const { rows } = await database.query<{ password_hash: string }>({
          name: 'test.hash',
          text: 'SELECT password_hash FROM directory.user_account WHERE tenant_id = $1',
          values: [tenantId],
        });
        return rows[0]?.password_hash;
      };
      const signIn = (password: string) =>
        directory.as('authorize').verifyPassword({ tenantId, identifier: 'ada', password }, call());
      expect((await signIn('wrong')).user).toBeUndefined();
      expect(await hash()).toBe(imported);
      // All at once: whichever hash is there when a sign-in is confirmed is one of the same password.
      const answers = await Promise.all(Array.from({ length: 8 }, () => signIn('password')));
      for (const { user } of answers) expect(user?.validFrom).toBe(0n);
      await expect.poll(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
      const renewed = await hash();
      expect((await apply(directory, declared)).tenants[0]?.unchanged).toBe(true);
      expect((await signIn('password')).user?.validFrom).toBe(0n);
      expect(await hash()).toBe(renewed);
      await apply(directory, declared.replace(imported, imported.replace(/..$/, 'aa')));
      expect((await signIn('password')).user).toBeUndefined();
    },
  );

  it('can sign in while sixty callers from another address keep every core busy with correct passwords', async () => {
    const directory = start();
    const verify = async (tenantId: string, identifier: string, ipAddress: string) => {
      const answer = await directory
        .as('authorize')
        .verifyPassword({ ...asked, tenantId, identifier, ipAddress }, call());
      return answer.user?.username === 'ada';
    };
    await apply(directory, tenant('people'), tenant('others'));
    const over = new AbortController();
    let served = 0;
    const flood = Array.from({ length: 60 }, async (_, index) => {
      while (!over.signal.aborted) {
        const identifier = index % 2 === 0 ? 'ada' : `caller-${index}`;
        const right = await verify('people', identifier, '192.0.2.1').catch(() => false);
        if (right) served += 1;
      }
    });
    await expect.poll(() => served).toBeGreaterThan(0);
    const others = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => verify('others', 'ada', `198.51.100.${index}`)),
    );
    over.abort();
    await Promise.all(flood);
    expect(others.filter((other) => other.status === 'fulfilled' && other.value).length).toBeGreaterThan(8);
  });

  it('get the same response if they are unknown, type a wrong password or may not sign in', async () => {
    const directory = start();
    await apply(directory, tenant('people'));
    const verify = (fields: Partial<typeof asked>) =>
      directory.as('authorize').verifyPassword({ ...asked, ...fields }, call());
    const answers = [
      await verify({ password: 'wrong' }),
      await verify({ password: '' }),
      await verify({ identifier: 'nobody' }),
      await verify({ identifier: 'x'.repeat(10_000) }),
      await verify({ tenantId: 'nowhere' }),
    ];
    for (const status of ['disabled', 'locked']) {
      await apply(
        directory,
        tenant('people', { user: `password: correct horse\n        status: ${status}` }),
      );
      answers.push(await verify({}));
    }
    await apply(directory, tenant('people', { user: 'status: active', tenant: 'status: disabled' }));
    answers.push(await verify({}));
    for (const answer of answers) expect(answer.user).toBeUndefined();
    await expect(verify({ password: 'x'.repeat(1025) })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('cannot sign in to a tenant with the password of another one (TEN-3)', async () => {
    const directory = start();
    await apply(directory, tenant('wall-a'), tenant('wall-b', { user: 'password: another one' }));
    const crossed = { tenantId: 'wall-a', identifier: 'ada', password: 'another one' };
    expect((await directory.as('authorize').verifyPassword(crossed, call())).user).toBeUndefined();
    const own = { ...crossed, tenantId: 'wall-b' };
    expect((await directory.as('authorize').verifyPassword(own, call())).user?.username).toBe('ada');
  });
});

type Method = (
  request: object,
  options: ReturnType<typeof call>,
) => Promise<unknown> | AsyncIterable<unknown>;

/** What a method answers, a stream with its first message. */
async function answered(answer: ReturnType<Method> | undefined): Promise<unknown> {
  if (answer === undefined) throw new Error('There is no such method.');
  return Symbol.asyncIterator in answer ? answer[Symbol.asyncIterator]().next() : answer;
}

describe('callers', () => {
  /** Every method of every service has a line here; callers that it does not name are denied. */
  const reachable: Record<string, Record<string, readonly CallerName[]>> = {
    DirectoryService: {
      getApplication: ['gateway', 'authorize', 'device', 'token', 'admin', 'operator'],
      getTenant: ['authorize'],
      getTenantLooks: ['gateway'],
      listTenantIssuers: ['gateway', 'token'],
      verifyApplicationSecret: ['device', 'token'],
      verifyClientAssertion: ['device', 'token'],
      getUser: ['gateway', 'authorize', 'device', 'token', 'admin', 'operator'],
      batchGetUsers: ['authorize', 'device', 'token', 'admin'],
      findUser: ['authorize', 'device', 'admin', 'operator'],
      verifyPassword: ['authorize'],
      replacePassword: ['authorize'],
      proposeTotp: ['authorize'],
      verifyProposedTotp: ['authorize'],
      proposeRecoveryCodes: ['authorize'],
      adoptProposal: ['authorize'],
      verifySecondFactor: ['authorize'],
      proposePasskey: ['authorize'],
      enrolPasskey: ['authorize'],
      verifyPasskey: ['authorize'],
      listProviders: ['authorize'],
      getProvider: ['authorize'],
      signInWithProvider: ['authorize'],
      getPasswordLink: ['gateway'],
      redeemPasswordLink: ['gateway'],
      requestPasswordReset: ['gateway'],
      requestRegistration: ['gateway'],
      proposeEmail: ['authorize'],
      getEmailLink: ['gateway'],
      confirmEmail: ['gateway'],
      requestMailCode: ['authorize'],
      sendMailCode: ['authorize'],
      verifyMailCode: ['authorize'],
      watchChanges: ['gateway', 'authorize', 'device', 'token', 'operator'],
    },
    BootstrapService: { createFirstAdministrator: ['operator'] },
    TenantsService: {
      get: ['operator', 'admin'],
      list: ['operator', 'admin'],
      create: ['operator', 'admin'],
      update: ['operator', 'admin'],
      delete: ['operator', 'admin'],
    },
    ResourcesService: {
      get: ['operator', 'admin'],
      list: ['operator', 'admin'],
      create: ['operator', 'admin'],
      update: ['operator', 'admin'],
      delete: ['operator', 'admin'],
    },
    RolesService: {
      get: ['operator', 'admin'],
      list: ['operator', 'admin'],
      create: ['operator', 'admin'],
      delete: ['operator', 'admin'],
    },
    UsersService: {
      get: ['operator', 'admin'],
      list: ['operator', 'admin'],
      create: ['operator', 'admin'],
      update: ['operator', 'admin'],
      delete: ['operator', 'admin'],
      createPasswordLink: ['operator', 'admin'],
      getCredentials: ['operator', 'admin'],
      resetSecondFactors: ['operator', 'admin'],
      deleteCredential: ['operator', 'admin'],
      lockDown: ['operator', 'admin'],
      unlock: ['operator', 'admin'],
      undelete: ['operator', 'admin'],
      listDeleted: ['operator', 'admin'],
    },
    ApplicationsService: {
      get: ['operator', 'admin'],
      list: ['operator', 'admin'],
      create: ['operator', 'admin'],
      update: ['operator', 'admin'],
      delete: ['operator', 'admin'],
      listSecrets: ['operator', 'admin'],
      createSecret: ['operator', 'admin'],
      deleteSecret: ['operator', 'admin'],
      undelete: ['operator', 'admin'],
      listDeleted: ['operator', 'admin'],
    },
    DeclaredStateService: {
      apply: ['operator', 'admin'],
      diff: ['operator', 'admin'],
      get: ['operator', 'admin'],
    },
    PlanService: { describePlan: ['admin'] },
  };
  const everyone = Object.keys({
    gateway: true,
    authorize: true,
    token: true,
    device: true,
    keys: true,
    directory: true,
    admin: true,
    operator: true,
    introspector: true,
  } satisfies Record<CallerName, true>) as CallerName[];
  const services = [
    DirectoryService,
    BootstrapService,
    TenantsService,
    ResourcesService,
    RolesService,
    UsersService,
    ApplicationsService,
    DeclaredStateService,
    PlanService,
  ];
  const methods = services.flatMap((service) => service.methods);

  it('may call only the methods that are listed for them here (TEN-5)', () => {
    const declared = services.map(({ name, methods: of }) => [
      name,
      Object.fromEntries(of.map((method) => [method.localName, declaredAccess(method).callers.toSorted()])),
    ]);
    const listed = Object.entries(reachable).map(([name, of]) => [
      name,
      Object.fromEntries(Object.entries(of).map(([method, callers]) => [method, callers.toSorted()])),
    ]);
    expect(Object.fromEntries(declared)).toEqual(Object.fromEntries(listed));
  });

  it.each(methods.map((method) => [`${method.parent.name}/${method.name}`, method] as const))(
    'are denied %s where they do not need it (TEN-5)',
    async (_name, { parent, localName }) => {
      const { service } = start();
      for (const caller of everyone) {
        if (reachable[parent.name]?.[localName]?.includes(caller) === true) continue;
        const client = local(parent, service, caller, silentLog()) as Record<string, Method>;
        await expect(answered(client[localName]?.({}, call())), caller).rejects.toMatchObject({ code: 7 });
      }
    },
  );
});
