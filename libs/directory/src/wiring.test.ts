import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { local, rootCall, type BuiltService, type CallerName, type DescService } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { ChangeKind, DirectoryService, Status } from '@tessera/proto-gen/directory';
import { counting, silentLog, testDatabase } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { applyFile } from './apply/apply-file.ts';
import { applyAtStart, migrations } from './index.ts';
import { declaredFiles } from './testing/declared-files.ts';
import { buildRecords } from './testing/start-records.ts';

const demoFile = new URL('../../../deploy/demo/tessera.yaml', import.meta.url).pathname;
const secret = 'demo-secret-not-for-production-0001';
const call = () => rootCall('a-request', 30_000);

const built: BuiltService[] = [];
let database: Database;

beforeAll(async () => {
  database = await testDatabase(migrations);
});
afterAll(async () => {
  await Promise.all(built.map((service) => service.close()));
});

/** One more directory process on the same database, with the calls of records alone. */
function start(pepper = 'p', on = database, onError?: (line: string) => void) {
  const settings = { TESSERA_DIRECTORY_PEPPER: createHash('sha256').update(pepper).digest('base64') };
  const { service, runtime, personWith } = buildRecords(on, { settings, ...(onError && { onError }) });
  built.push(service);
  const operator = <S extends DescService>(of: S) => local(of, service, 'operator', runtime.log);
  const declaredState = operator(DeclaredStateService);
  return {
    service,
    personWith,
    declaredState,
    files: declaredFiles(declaredState),
    tenants: operator(TenantsService),
    users: operator(UsersService),
    applications: operator(ApplicationsService),
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

function secretOf(id: string): string {
  return `${id}-secret-of-at-least-32-characters`;
}

/** Deletions are allowed; `deletion-guard.test.ts` is about those that are not. */
async function apply(directory: ReturnType<typeof start>, ...tenants: string[]) {
  const document = `tenants:${tenants.join('')}\n`;
  return directory.files.apply({ document, fileName: 'state.yaml', allowDelete: true }, call());
}

describe('applying a declared state', () => {
  it('applies the demo file, and changes nothing the second time', async () => {
    const { declaredState, as, personWith } = start();
    const environment = {};
    const first = await applyFile(demoFile, { declaredState, environment, call: call() });
    expect(first.tenants.map(({ tenantId, created, unchanged }) => [tenantId, created, unchanged])).toEqual([
      ['demo', 10, false],
      ['demo-two', 3, false],
    ]);
    const before = await contents();
    const second = await applyFile(demoFile, { declaredState, environment, call: call() });
    expect(second.tenants.map((outcome) => outcome.unchanged)).toEqual([true, true]);
    expect(await contents()).toEqual(before);
    const password = 'correct horse battery staple';
    const { user } = await as('device').findUser({ tenantId: 'demo', identifier: 'ada' }, call());
    expect(await personWith('demo', 'ada', password)).toBe(user?.userId);
    expect(user?.roles).toEqual(['clerk', 'manager']);
    const asked = { clientId: 'demo-service', clientSecret: secret };
    expect((await as('token').verifyApplicationSecret(asked, call())).verified).toBe(true);
  });

  it('keeps user ids, and updates and removes records as declared', async () => {
    const directory = start();
    await apply(directory, tenant('keep'));
    const find = () => directory.as('device').findUser({ tenantId: 'keep', identifier: 'ada' }, call());
    const before = (await find()).user;
    expect(before?.userId).toMatch(/^usr_[A-Za-z0-9_-]{22}$/);
    const changed = tenant('keep', { user: 'name: Ada' }).replace(/\n.*keep-spa.*/, '');
    const { tenants } = await apply(directory, changed);
    expect(tenants[0]).toMatchObject({ created: 0, updated: 1, deleted: 1, unchanged: false });
    expect((await find()).user).toMatchObject({ userId: before?.userId, name: 'Ada' });
    await expect(
      directory.as('token').getApplication({ clientId: 'keep-spa' }, call()),
    ).rejects.toMatchObject({ code: 5 });
  });

  it('leaves tenants unchanged that the file does not name', async () => {
    const directory = start();
    await apply(directory, tenant('here'));
    await apply(directory, tenant('there'));
    const found = await directory.as('token').getApplication({ clientId: 'here-service' }, call());
    expect(found.tenant?.tenantId).toBe('here');
  });

  it('does not re-enable a disabled record unless the file says so', async () => {
    const directory = start();
    await apply(directory, tenant('off'));
    const { user } = await directory.as('device').findUser({ tenantId: 'off', identifier: 'ada' }, call());
    const ids = { tenantId: 'off', userId: user?.userId ?? '', clientId: 'off-service' };
    const { tenantId, userId, clientId } = ids;
    const change = { tenantId, updateMask: { paths: ['status'] } };
    await directory.users.update({ ...change, user: { userId, status: 'locked' } }, call());
    await directory.applications.update({ ...change, application: { clientId, status: 'disabled' } }, call());
    await directory.tenants.update({ ...change, tenant: { tenantId, status: 'disabled' } }, call());
    const statuses = async () => {
      const { application, tenant: owner } = await directory.as('token').getApplication(ids, call());
      const person = await directory.as('token').getUser(ids, call());
      return [person.user?.status, application?.status, owner?.status];
    };
    await apply(directory, tenant('off'));
    expect(await statuses()).toEqual([Status.LOCKED, Status.DISABLED, Status.DISABLED]);
    const secrets = `secrets: [{ value: ${secretOf('off')} }]`;
    await apply(
      directory,
      tenant('off', {
        tenant: 'status: active',
        user: 'status: active',
        application: `${secrets}\n        status: active`,
      }),
    );
    expect(await statuses()).toEqual([Status.ACTIVE, Status.ACTIVE, Status.ACTIVE]);
    expect(await directory.personWith('off', 'ada', 'correct horse')).toBe(ids.userId);
  });

  it('refuses the whole file because of a mistake in one tenant, with file, line and key', async () => {
    const directory = start();
    const answer = apply(directory, tenant('good'), tenant('bad', { user: 'email2: x' }));
    await expect(answer).rejects.toThrow('state.yaml:31:9: tenants[1].users[0].email2: is not a known key');
    await expect(
      directory.as('token').getApplication({ clientId: 'good-service' }, call()),
    ).rejects.toMatchObject({ code: 5 });
  });

  it('gives a tenant its issuer, writes it out, and refuses it to another tenant', async () => {
    const directory = start();
    const issuer = 'https://id.example/t/issued';
    await apply(directory, tenant('issued', { tenant: `issuer: ${issuer}` }));
    const { issuers } = await directory.as('gateway').listTenantIssuers({}, call());
    expect(issuers.filter(({ tenantId }) => tenantId === 'issued')).toMatchObject([{ issuer }]);
    const found = await directory.as('token').getApplication({ clientId: 'issued-service' }, call());
    expect(found.tenant?.issuer).toBe(issuer);
    await expect(apply(directory, tenant('copy', { tenant: `issuer: ${issuer}` }))).rejects.toThrow(
      'tenants[0].issuer: belongs to another tenant; remove it there first',
    );
    await apply(directory, tenant('issued'));
    expect((await directory.as('gateway').listTenantIssuers({}, call())).issuers).toEqual([]);
  });

  it('lists the algorithms that resources declare, of the shared issuer and of those of tenants', async () => {
    const directory = start();
    const declaring = (id: string, issuer: string, algorithm: string) =>
      apply(
        directory,
        `\n  - { id: ${id}, name: T, ${issuer} resources: [{ audience: "https://${id}.example/a", name: A, ` +
          `signingAlgorithm: ${algorithm} }, { audience: "https://${id}.example/b", name: B, signingAlgorithm: ${algorithm} }] }`,
      );
    const declared = async () => {
      const { issuers, sharedSigningAlgorithms } = await directory
        .as('gateway')
        .listTenantIssuers({}, call());
      return [
        sharedSigningAlgorithms,
        issuers.find(({ tenantId }) => tenantId === 'signs-own')?.signingAlgorithms,
      ];
    };
    const own = 'issuer: "https://id.example/t/signs-own",';
    await declaring('signs-own', own, 'RS256');
    expect(await declared()).toEqual([[], []]);
    await declaring('signs-own', own, 'ES256');
    expect(await declared()).toEqual([[], ['ES256']]);
    await declaring('signs-shared', '', 'ES256');
    await declaring('signs-too', '', 'ES256');
    expect(await declared()).toEqual([['ES256'], ['ES256']]);
    await declaring('signs-own', '', 'ES256');
    await declaring('signs-shared', '', 'RS256');
    expect(await declared()).toEqual([['ES256'], undefined]);
    await declaring('signs-too', '', 'RS256');
    await declaring('signs-own', '', 'RS256');
    expect(await declared()).toEqual([[], undefined]);
  });

  it('refuses an audience of another tenant at the same issuer unless both share it', async () => {
    const directory = start();
    const declaring = (id: string, keys = '') =>
      tenant(id, { tenant: keys }).replace(/audience: [^,]+/, 'audience: https://api.example');
    const sharing = (id: string) =>
      declaring(id).replace('scopes: [read] }', 'scopes: [read], shared: true }');
    await apply(directory, declaring('first'));
    await expect(apply(directory, declaring('second'))).rejects.toThrow(/audience: .* say "shared: true"/);
    await apply(directory, declaring('second', 'issuer: https://login.second.example'));
    await apply(directory, sharing('first'), sharing('second'));
    const again = await apply(directory, sharing('first'), sharing('second'));
    expect(again.tenants.map(({ unchanged }) => unchanged)).toEqual([true, true]);
  });

  it('refuses a client id that belongs to another tenant, before anything is written', async () => {
    const directory = start();
    await apply(directory, tenant('owner'));
    const thief = tenant('thief').replace('thief-spa', 'owner-spa');
    await expect(apply(directory, tenant('bystander'), thief)).rejects.toMatchObject({
      code: 9,
      rawMessage:
        'state.yaml:39:11: tenants[1].applications[1].clientId: belongs to another tenant; remove it there first',
    });
    await expect(
      directory.as('token').getApplication({ clientId: 'bystander-spa' }, call()),
    ).rejects.toMatchObject({ code: 5 });
  });

  it('ends in one state if many processes apply concurrently', async () => {
    const directories = [start(), start()];
    const answers = await Promise.all(
      [0, 1, 2, 3].map((index) => apply(directories[index % 2] ?? start(), tenant('race'))),
    );
    expect(answers.filter((answer) => answer.tenants[0]?.unchanged === false)).toHaveLength(1);
  });

  it('writes no secret and no password anywhere in the database', async () => {
    await apply(start(), tenant('quiet'));
    const everything = JSON.stringify(await contents());
    expect(everything).toContain('quiet-service');
    expect(everything).not.toContain(secretOf('quiet'));
    expect(everything).not.toContain('correct horse');
  });
});

describe('the difference to a declared state', () => {
  const diff = async (directory: ReturnType<typeof start>, ...tenants: string[]) =>
    (
      await directory.files.diff(
        { document: `tenants:${tenants.join('')}\n`, fileName: 'state.yaml' },
        call(),
      )
    ).tenants;
  const summary = (tenants: Awaited<ReturnType<typeof diff>>) =>
    tenants.map(({ tenantId, differences }) => [
      tenantId,
      differences.map(({ kind, name, change, keys }) => [kind, name, change, ...keys].join(' ')),
    ]);

  it('contains every record of a new tenant, and nothing once applied', async () => {
    const directory = start();
    const before = await contents();
    expect(summary(await diff(directory, tenant('planned')))).toEqual([
      [
        'planned',
        [
          'tenant planned created',
          'resource https://api.planned.example created',
          'role clerk created',
          'user ada created',
          'application planned-service created',
          'application planned-spa created',
        ],
      ],
    ]);
    expect(await contents()).toEqual(before);
    const { tenants } = await apply(directory, tenant('planned'));
    expect(tenants[0]?.created).toBe(6);
    expect(summary(await diff(directory, tenant('planned')))).toEqual([['planned', []]]);
  });

  it('names records and keys, never values, and equals what applying then changes', async () => {
    const directory = start();
    await apply(directory, tenant('said'), tenant('same'));
    const before = await contents();
    const changed = tenant('said', {
      tenant: 'status: disabled',
      user: 'password: battery staple\n        name: Ada',
      application: `secrets: [{ value: ${secretOf('said-newer')} }]\n        lifetimes: { accessToken: 5m }`,
    })
      .replace('name: API, scopes: [read]', 'name: API, scopes: [read, write]')
      .replace('roles: [clerk]', 'roles: [clerk, auditor]')
      .replace(/\n.*said-spa.*/, '');
    const differences = await diff(directory, changed, tenant('same'));
    expect(summary(differences)).toEqual([
      [
        'said',
        [
          'tenant said updated status',
          'resource https://api.said.example updated scopes',
          'role auditor created',
          'user ada updated name password',
          'application said-service updated lifetimes secrets',
          'application said-spa deleted',
        ],
      ],
      ['same', []],
    ]);
    const text = JSON.stringify(differences);
    for (const value of [secretOf('said-newer'), 'battery', '$argon2id', 'Ada"'])
      expect(text).not.toContain(value);
    expect(await contents()).toEqual(before);
    const { tenants } = await apply(directory, changed, tenant('same'));
    expect(tenants).toMatchObject([
      { created: 1, updated: 4, deleted: 1 },
      { created: 0, updated: 0, deleted: 0 },
    ]);
  });

  it('is refused for a file with a mistake or a conflict, which is reported as when applying', async () => {
    const directory = start();
    await apply(directory, tenant('holder'));
    for (const [file, code, problem] of [
      [tenant('taker', { user: 'email2: x' }), 3, 'tenants[0].users[0].email2: is not a known key'],
      [
        tenant('taker').replace('taker-spa', 'holder-spa'),
        9,
        'belongs to another tenant; remove it there first',
      ],
    ] as const)
      await expect(diff(directory, file)).rejects.toMatchObject({
        code,
        rawMessage: expect.stringContaining(problem) as string,
      });
  });

  it('does not bind a pepper to the database, and is refused under a wrong one', async () => {
    const own = await testDatabase(migrations);
    await diff(start('wrong', own), tenant('first'));
    const directory = start('right', own);
    await apply(directory, tenant('first'));
    expect(summary(await diff(directory, tenant('first')))).toEqual([['first', []]]);
    await expect(diff(start('wrong', own), tenant('first'))).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
  });
});

describe('standard claims of a user (OIDC Core §5.1)', () => {
  const find = async (directory: ReturnType<typeof start>, tenantId: string) =>
    (await directory.as('device').findUser({ tenantId, identifier: 'ada' }, call())).user;

  it('come by their registered names, with the time of the last change', async () => {
    const directory = start();
    const declared = 'emailVerified: false\n        address: { postalCode: SW1 }';
    await apply(directory, tenant('claims', { user: `givenName: Ada\n        ${declared}` }));
    const user = await find(directory, 'claims');
    const updatedAt = Number(user?.standardClaims?.['updated_at']);
    expect(Math.abs(updatedAt - Date.now() / 1000)).toBeLessThan(3600);
    expect(Number.isInteger(updatedAt)).toBe(true);
    expect(user?.standardClaims).toEqual({
      given_name: 'Ada',
      email_verified: false,
      address: { postal_code: 'SW1' },
      updated_at: updatedAt,
    });
  });

  it('are absent, with updated_at, for a user who declares none', async () => {
    const directory = start();
    await apply(directory, tenant('no-claims'));
    expect((await find(directory, 'no-claims'))?.standardClaims).toBeUndefined();
  });

  it('differ one by one, removed ones too', async () => {
    const directory = start();
    await apply(directory, tenant('claims-diff', { user: 'givenName: Ada\n        nickname: A' }));
    const document = `tenants:${tenant('claims-diff', { user: 'givenName: Augusta' })}`;
    const { tenants } = await directory.files.diff({ document, fileName: 'state.yaml' }, call());
    expect(tenants).toMatchObject([
      { differences: [{ kind: 'user', name: 'ada', keys: ['givenName', 'nickname'] }] },
    ]);
  });
});

describe('the export of declared state', () => {
  const everything = `
  - id: whole
    name: Whole
    status: disabled
    resources:
      - { audience: https://b.example, name: B, scopes: [write, { name: read, description: See }], tokenType: JWT,
          scopeFormat: string, signingAlgorithm: ES256 }
      - { audience: https://a.example, name: A }
    roles: [clerk, auditor]
    users:
      - { username: bob, status: locked, passwordHash: '$argon2id$v=19$m=1024,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4' }
      - { username: ada, email: ada@whole.example, name: Ada, phoneNumber: '+46701234567', roles: [clerk],
          attributes: { department: Engines, teams: [one] }, givenName: Ada, emailVerified: false, address: { country: GB, postalCode: SW1 } }
    applications:
      - clientId: whole-web
        name: Web
        type: confidential
        secrets: [{ value: ${secretOf('whole')}, expiresAt: 2999-01-01T00:00:00Z }]
        grantTypes: [authorization_code, refresh_token, ciba]
        redirectUris: [https://b.example/back, https://a.example/back]
        logoutRedirectUris: [https://b.example/]
        scopes: [openid, write, read]
        introspectAudiences: [https://b.example]
        lifetimes: { accessToken: 5m }
        ciba: { approval: page, delivery: ping, notificationEndpoint: https://b.example/notifications }
        allowedRoles: [clerk]
        claims: { groups: { roles: true, targets: [idToken] }, teams: { attribute: teams, targets: [userinfo] } }
      - { clientId: whole-tv, name: TV, type: public, status: disabled, grantTypes: [device_code] }`;
  const get = async (directory: ReturnType<typeof start>, tenantId: string) =>
    tenantId === ''
      ? directory.files.all(directory.tenants, call())
      : [await directory.files.written(tenantId, call())];

  it('changes nothing when applied with its secrets, and contains no secret and no hash', async () => {
    const directory = start('p', await testDatabase(migrations));
    await apply(directory, everything, tenant('other'));
    const [document = '', ...more] = await get(directory, 'whole');
    expect(more).toEqual([]);
    for (const hidden of [secretOf('whole'), 'argon2', 'secrets', 'usr_'])
      expect(document).not.toContain(hidden);
    const secrets = `secrets: [{ value: ${secretOf('whole')}, expiresAt: 2999-01-01T00:00:00Z }]`;
    const complete = document
      .replace(/^tenants:/, '')
      .replace('type: confidential', `type: confidential\n      ${secrets}`);
    const { tenants } = await apply(directory, complete);
    expect(tenants).toMatchObject([{ tenantId: 'whole', unchanged: true }]);
  });

  it('contains all tenants in the order of their ids, or the named one', async () => {
    const directory = start('p', await testDatabase(migrations));
    expect(await get(directory, '')).toEqual([]);
    await apply(directory, tenant('two'), tenant('one'));
    expect((await get(directory, '')).map((document) => /^- id: (.*)$/m.exec(document)?.[1])).toEqual([
      'one',
      'two',
    ]);
    await expect(get(directory, 'three')).rejects.toMatchObject({ code: 5 });
  });
});

describe('client secrets', () => {
  it('rotate: two are valid side by side, then only the new one', async () => {
    const directory = start();
    const secrets = (...values: string[]) => ({
      application: `secrets: [${values.map((value) => `{ value: ${value} }`).join(', ')}]`,
    });
    const [older, newer] = [secretOf('rota-older'), secretOf('rota-newer')];
    const works = async (clientSecret: string) =>
      (
        await directory
          .as('token')
          .verifyApplicationSecret({ clientId: 'rota-service', clientSecret }, call())
      ).verified;
    await apply(directory, tenant('rota', secrets(older)));
    expect([await works(older), await works(newer)]).toEqual([true, false]);
    await apply(directory, tenant('rota', secrets(older, newer)));
    expect([await works(older), await works(newer)]).toEqual([true, true]);
    await apply(directory, tenant('rota', secrets(newer)));
    expect([await works(older), await works(newer)]).toEqual([false, true]);
  });

  it('have an expiry, and are refused after it', async () => {
    const directory = start();
    const expiring = (time: string) => ({
      application: `secrets: [{ value: ${secretOf('expi')}, expiresAt: "${time}" }]`,
    });
    const verify = () =>
      directory
        .as('token')
        .verifyApplicationSecret({ clientId: 'expi-service', clientSecret: secretOf('expi') }, call());
    await apply(directory, tenant('expi', expiring('2999-01-01T00:00:00Z')));
    expect(await verify()).toMatchObject({ verified: true, expiresAt: 32_472_144_000n });
    await apply(directory, tenant('expi', expiring('2020-01-01T00:00:00Z')));
    expect(await verify()).toMatchObject({ verified: false, expiresAt: 0n });
  });

  it('are not rejected by a process with another pepper: it logs once, is not ready and writes nothing until the pepper is fixed', async () => {
    const own = await testDatabase(migrations);
    const [first, second] = [start('p', own), start('p', own)];
    await Promise.all([first.service.ready(), second.service.ready()]);
    await apply(first, tenant('pepper'));
    const lines: string[] = [];
    const other = start('another', own, (line) => lines.push(line));
    const asked = { clientId: 'pepper-service', clientSecret: secretOf('pepper') };
    const verify = (by: typeof first, clientSecret = asked.clientSecret) =>
      by.as('token').verifyApplicationSecret({ ...asked, clientSecret }, call());
    const unavailable = { code: 'temporarily_unavailable' };
    for (let time = 0; time < 2; time += 1) {
      await expect(other.service.ready()).rejects.toMatchObject(unavailable);
      await expect(verify(other)).rejects.toMatchObject(unavailable);
      await expect(apply(other, tenant('pepper'))).rejects.toMatchObject(unavailable);
    }
    expect(lines).toEqual([expect.stringContaining('TESSERA_DIRECTORY_PEPPER is not the pepper')]);
    expect((await verify(first)).verified).toBe(true);
    expect((await verify(first, 'wrong')).verified).toBe(false);
    await own.query({ name: 'test.replace_pepper', text: 'DELETE FROM directory.pepper_check' });
    await apply(other, tenant('pepper'));
    await other.service.ready();
    expect((await verify(other)).verified).toBe(true);
  });

  it('bind an unrecorded pepper with the first verified secret, not with the first start', async () => {
    const own = await testDatabase(migrations);
    await apply(start('p', own), tenant('older'));
    await own.query({ name: 'test.forget_pepper', text: 'DELETE FROM directory.pepper_check' });
    const asked = { clientId: 'older-service', clientSecret: secretOf('older') };
    const verify = (by: ReturnType<typeof start>, clientSecret = asked.clientSecret) =>
      by.as('token').verifyApplicationSecret({ ...asked, clientSecret }, call());
    const [wrong, right] = [start('another', own), start('p', own)];
    await wrong.service.ready();
    expect((await verify(wrong)).verified, 'nothing tells that it is wrong').toBe(false);
    await right.service.ready();
    expect((await verify(right, 'guessed')).verified).toBe(false);
    expect((await verify(right)).verified).toBe(true);
    const unavailable = { code: 'temporarily_unavailable' };
    await expect(verify(wrong)).rejects.toMatchObject(unavailable);
    await expect(wrong.service.ready()).rejects.toMatchObject(unavailable);
    await expect(apply(wrong, tenant('older'))).rejects.toMatchObject(unavailable);
    await right.service.ready();
  });

  it('are listed in declared order with their last use, which is saved when the process ends', async () => {
    const [directory, reader] = [start(), start()];
    // With the pepper of these tests the digest of the second one sorts first.
    const values = ['older', 'newer'].map((name) => secretOf(`used-${name}`));
    const ofFile = (...secrets: (string | undefined)[]) =>
      tenant('used', {
        application: `secrets: [${secrets.map((value) => `{ value: ${value} }`).join(', ')}]`,
      });
    await apply(directory, ofFile(...values));
    const clientId = 'used-service';
    const clientSecret = values[1] ?? '';
    await directory.as('token').verifyApplicationSecret({ clientId, clientSecret }, call());
    await directory.service.close();
    const listed = async (of: string) =>
      (await reader.applications.listSecrets({ tenantId: 'used', clientId: of }, call())).secrets;
    const list = async () => listed(clientId);
    const before = await list();
    expect(before.map(({ expireTime }) => expireTime)).toEqual([undefined, undefined]);
    expect(before[0]?.lastUseTime).toBeUndefined();
    for (const time of [before[0]?.createTime, before[1]?.createTime, before[1]?.lastUseTime])
      expect(Math.abs(Number(time?.seconds) - Date.now() / 1000)).toBeLessThan(60);
    const [outcome] = (await apply(reader, ofFile(...values.toReversed()))).tenants;
    expect(outcome?.unchanged, 'another order in the file is no change').toBe(true);
    expect(await list()).toEqual(before);
    await expect(listed('unknown')).rejects.toMatchObject({
      code: 5,
      rawMessage: 'The application is not known.',
    });
  });
});

describe('tenants', () => {
  it('are isolated: an id of another tenant gets the same response as a random one (TEN-3)', async () => {
    const directory = start();
    await apply(directory, tenant('wall-a'), tenant('wall-b'));
    const reader = directory.as('token');
    const { user } = await directory.as('device').findUser({ tenantId: 'wall-b', identifier: 'ada' }, call());
    const messageOf = async (answer: Promise<unknown>) =>
      answer.then(
        () => 'answered',
        (error: unknown) => String(error),
      );
    const foreign = user?.userId ?? '';
    const { users, applications } = directory;
    const change = { tenantId: 'wall-a', updateMask: { paths: ['status'] } };
    const pairs = [
      [foreign, 'usr_AAAAAAAAAAAAAAAAAAAAAA'].map((userId) =>
        messageOf(reader.getUser({ tenantId: 'wall-a', userId }, call())),
      ),
      [foreign, 'usr_AAAAAAAAAAAAAAAAAAAAAA'].map((userId) =>
        messageOf(users.update({ ...change, user: { userId, status: 'disabled' } }, call())),
      ),
      ['wall-b-service', 'random'].map((clientId) =>
        messageOf(applications.update({ ...change, application: { clientId, status: 'disabled' } }, call())),
      ),
      ['ada@wall-b.example', 'random'].map((identifier) =>
        messageOf(directory.as('device').findUser({ tenantId: 'wall-a', identifier }, call())),
      ),
    ];
    for (const pair of pairs) {
      const [other, random] = await Promise.all(pair);
      expect(other).toBe(random);
      expect(other).toMatch(/not known/);
    }
    expect((await reader.getUser({ tenantId: 'wall-b', userId: foreign }, call())).user?.status).toBe(
      Status.ACTIVE,
    );
  });
});

describe('watching changes', () => {
  it('reports within one second what another process wrote, after a first message with the position', async () => {
    const [writer, reader] = [start(), start()];
    await apply(writer, tenant('seen'));
    const ending = new AbortController();
    const messages = reader.as('token').watchChanges({}, rootCall('watch', undefined, ending.signal));
    const stream = messages[Symbol.asyncIterator]();
    const next = async () => {
      for (;;) {
        const result = await stream.next();
        if (result.done === true) return undefined;
        if (result.value.kind !== ChangeKind.UNSPECIFIED) return result.value;
      }
    };
    const first = await stream.next();
    expect(first.value).toMatchObject({ kind: ChangeKind.UNSPECIFIED, id: '' });
    const startedAt = Date.now();
    const application = { clientId: 'seen-spa', status: 'disabled' };
    await writer.applications.update(
      { tenantId: 'seen', application, updateMask: { paths: ['status'] } },
      call(),
    );
    expect(await next()).toMatchObject({
      kind: ChangeKind.APPLICATION,
      tenantId: 'seen',
      id: 'seen-spa',
    });
    expect(Date.now() - startedAt).toBeLessThan(1_000);
    ending.abort();
    await expect(stream.next()).rejects.toMatchObject({ code: 1 });
  });

  it('reports an access policy that was set or removed, and a role that a person lost (DEV-2)', async () => {
    const directory = start();
    const reader = directory.as('device');
    await apply(directory, tenant('policy'));
    const { user } = await reader.findUser({ tenantId: 'policy', identifier: 'ada' }, call());
    const ending = new AbortController();
    const messages = reader.watchChanges({}, rootCall('watch', undefined, ending.signal));
    const stream = messages[Symbol.asyncIterator]();
    await stream.next();
    const secrets = `secrets: [{ value: ${secretOf('policy')} }]`;
    const restricted = tenant('policy', { application: `${secrets}\n        allowedRoles: [clerk]` });
    const changes = [
      { state: restricted, kind: ChangeKind.APPLICATION, id: 'policy-service', allowed: ['clerk'] },
      {
        state: restricted.replace('        roles: [clerk]', '        roles: []'),
        kind: ChangeKind.USER,
        id: user?.userId,
        allowed: ['clerk'],
      },
      { state: restricted, kind: ChangeKind.USER, id: user?.userId, allowed: ['clerk'] },
      { state: tenant('policy'), kind: ChangeKind.APPLICATION, id: 'policy-service', allowed: [] },
    ];
    for (const { state, kind, id, allowed } of changes) {
      await apply(directory, state);
      expect((await stream.next()).value).toMatchObject({ kind, tenantId: 'policy', id, ended: false });
      const { application } = await reader.getApplication({ clientId: 'policy-service' }, call());
      expect(application?.allowedRoles).toEqual(allowed);
    }
    ending.abort();
    await expect(stream.next()).rejects.toMatchObject({ code: 1 });
  });

  it('resumes after a known position, and restarts after an unknown one', async () => {
    const directory = start();
    await apply(directory, tenant('resume'));
    const read = async (afterSequence: bigint, count: number) => {
      const ending = new AbortController();
      const messages = [];
      const options = rootCall('watch', undefined, ending.signal);
      for await (const message of directory.as('token').watchChanges({ afterSequence }, options)) {
        messages.push(message);
        if (messages.length === count) break;
      }
      ending.abort();
      return messages;
    };
    const [present] = await read(0n, 1);
    const position = present?.sequence ?? 0n;
    expect(position).toBeGreaterThan(0n);
    const disabled = { tenantId: 'resume', tenant: { tenantId: 'resume', status: 'disabled' } };
    await directory.tenants.update({ ...disabled, updateMask: { paths: ['status'] } }, call());
    const [resumed, change] = await read(position, 2);
    expect(resumed).toMatchObject({ sequence: position, kind: ChangeKind.UNSPECIFIED });
    expect(change).toMatchObject({ kind: ChangeKind.TENANT, tenantId: 'resume' });
    for (const unknown of [position + 1_000n, 2n ** 62n, -1n]) {
      const [fresh] = await read(unknown, 1);
      expect(fresh?.sequence).toBe(change?.sequence);
    }
  });

  it('starts with the changes since a time if the caller gives a time and no position', async () => {
    const directory = start();
    await apply(directory, tenant('since'));
    const found = await directory.as('device').findUser({ tenantId: 'since', identifier: 'ada' }, call());
    const ids = { tenantId: 'since', userId: found.user?.userId ?? '' };
    for (const status of ['disabled', 'active']) {
      const user = { userId: ids.userId, status };
      const mask = { updateMask: { paths: ['status'] }, takeOver: true };
      await directory.users.update({ tenantId: 'since', user, ...mask }, call());
    }
    const now = BigInt(Math.floor(Date.now() / 1000));
    /** The ends of the person up to the second position, and the first one. */
    const watched = async (request: { since: bigint; afterSequence?: bigint }) => {
      const ending = new AbortController();
      const messages = [];
      const options = rootCall('watch', undefined, ending.signal);
      for await (const message of directory.as('token').watchChanges(request, options)) {
        if (messages.length > 0 && message.kind === ChangeKind.UNSPECIFIED) break;
        messages.push(message);
      }
      ending.abort();
      const ends = messages.filter(({ id, ended }) => id === ids.userId && ended);
      return { position: messages[0]?.sequence ?? 0n, ends: ends.length };
    };
    const present = await watched({ since: 0n });
    expect(present.ends).toBe(0);
    expect((await watched({ since: now - 3600n })).ends).toBe(1);
    expect(await watched({ since: now + 3600n })).toEqual(present);
    expect(await watched({ since: now - 3600n, afterSequence: present.position })).toEqual(present);
  });

  it('reports its position while nothing happens, and queries no database while nobody watches', async () => {
    const counted = counting(database);
    const directory = start('p', counted);
    const ending = new AbortController();
    const kinds = [];
    for await (const message of directory
      .as('token')
      .watchChanges({}, rootCall('watch', undefined, ending.signal))) {
      kinds.push(message.kind);
      if (kinds.length === 3) break;
    }
    expect(kinds).toEqual(Array(3).fill(ChangeKind.UNSPECIFIED));
    await new Promise((resolve) => setTimeout(resolve, 50));
    counted.reset();
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(counted.count).toBe(0);
  });

  it('ends with the process', async () => {
    const directory = start();
    const stream = directory.as('token').watchChanges({}, rootCall('watch'))[Symbol.asyncIterator]();
    await stream.next();
    const after = (async () => {
      for (;;) if ((await stream.next()).done === true) return 'ended';
    })();
    await directory.service.close();
    expect(await after).toBe('ended');
  });
});

it('is ready when its tables answer', async () => {
  await expect(start().service.ready()).resolves.toBeUndefined();
});

it('names a file that cannot be read', async () => {
  const { declaredState } = start();
  const missing = `${demoFile}.missing`;
  await expect(applyFile(missing, { declaredState, environment: {}, call: call() })).rejects.toThrow(missing);
  expect(await readFile(demoFile, 'utf8')).toContain(secret);
});

describe('declared passwords', () => {
  it.each([
    [
      'password: x',
      /state\.yaml:\d+:\d+: tenants\[0\]\.users\[0\]\.password: must have at least 8 characters/,
    ],
    ['password: Password', /users\[0\]\.password: is one of the most common passwords/],
  ])('are refused if they are weak: %s', async (user, message) => {
    const directory = start();
    await expect(apply(directory, tenant('weak', { user }))).rejects.toThrow(message);
    const document = `tenants:${tenant('weak', { user })}`;
    await expect(directory.files.diff({ document, fileName: 'state.yaml' }, call())).rejects.toThrow(message);
  });

  it('may be imported as hashes, whatever they are of', async () => {
    const passwordHash =
      "passwordHash: '$argon2id$v=19$m=1024,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'";
    await apply(start(), tenant('imported', { user: passwordHash }));
  });
});

describe('the declared file at the start', () => {
  /** The message of the error if the start fails, else why the file was not applied; undefined if it was. */
  async function startWith(file: string, dataDirectory?: string, nodeEnv = 'test'): Promise<unknown> {
    let refusal: string | undefined;
    const error = ({ reason }: { readonly reason: string }) => (refusal = `logged: ${reason}`);
    const lifecycle = { onReload: () => undefined };
    const exposure = { TESSERA_DEMO: false, NODE_ENV: nodeEnv };
    const options = {
      file,
      allowDelete: false,
      allowAdministration: false,
      exposure,
      declaredState: start().declaredState,
      environment: {},
      call,
      log: Object.assign(silentLog(), { error }),
      lifecycle,
    };
    return applyAtStart({ ...options, dataDirectory }).then(
      () => refusal,
      (thrown: unknown) => (thrown instanceof Error ? thrown.message : thrown),
    );
  }

  it('refuses demo data in production and names the setting', async () => {
    expect(await startWith(demoFile, undefined, 'production')).toMatch(
      /NODE_ENV is production.*TESSERA_DEMO=yes/,
    );
  });

  async function written(text: string): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'tessera-apply-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const file = join(directory, 'state.yaml');
    await writeFile(file, text);
    return file;
  }

  it('names the setting if the file cannot be read', async () => {
    expect(await startWith('missing.yaml')).toContain(
      'TESSERA_APPLY_FILE names a file that cannot be read (ENOENT).',
    );
  });

  it('names each mistake by file, line and key', async () => {
    const file = await written('tenants:\n  - { id: noted, name: Noted, colour: blue }\n');
    expect(await startWith(file)).toBe(`${file}:2:31: tenants[0].colour: is not a known key`);
  });

  it('serves what was applied before if a client id is taken, and names the embedded store directory', async () => {
    await apply(start(), tenant('kept'));
    const file = await written(`tenants:${tenant('later')}\n`);
    expect(await startWith(file)).toBeUndefined();
    await writeFile(file, `tenants:${tenant('later').replace('later-spa', 'kept-spa')}\n`);
    const conflict =
      /^logged: \S+state\.yaml:\d+:\d+: \S+clientId: belongs to another tenant; remove it there first/;
    expect(await startWith(file)).toMatch(new RegExp(`${conflict.source}$`));
    expect(await startWith(file, './data')).toMatch(
      new RegExp(`${conflict.source}\\n\\./data \\(TESSERA_DATA_DIR\\) still holds the tenants`),
    );
    const found = await start().as('token').getApplication({ clientId: 'later-spa' }, call());
    expect(found.tenant?.tenantId).toBe('later');
  });

  it('serves what was applied before although the administrators of one tenant have made a record that clashes', async () => {
    const file = await written(`tenants:
  - { id: clashing, name: Clashing, users: [{ username: bob, email: bob@clashing.example }] }
  - { id: beside, name: Beside }
`);
    expect(await startWith(file)).toBeUndefined();
    const { users } = start();
    const [bob] = (await users.list({ tenantId: 'clashing' }, call())).users;
    await users.delete({ tenantId: 'clashing', userId: bob?.userId ?? '', takeOver: true }, call());
    const user = { username: 'mallory', email: 'bob@clashing.example' };
    await users.create({ tenantId: 'clashing', user }, call());
    expect(await startWith(file)).toMatch(
      /^logged: \S+state\.yaml:2:45: tenants\[0\]\.users\[0\]: shares a user name/,
    );
    await writeFile(
      file,
      (await readFile(file, 'utf8')).replace('name: Beside', 'name: Beside, colour: blue'),
    );
    expect(await startWith(file)).toMatch(/^\S+state\.yaml:3:\d+: tenants\[1\]\.colour: is not a known key$/);
  });
});

/** Every row of the schema. */
async function contents(): Promise<unknown[]> {
  const tables = ['tenant', 'api_resource', 'scope', 'role', 'user_account', 'user_identifier', 'user_role'];
  tables.push('application', 'application_secret', 'change', 'audit_event');
  const all: unknown[] = [];
  for (const table of tables) {
    const { rows } = await database.query<{ row: string }>({
      name: `test.contents.${table}`,
      text: `SELECT row_to_json(t)::text AS row FROM directory.${table} t ORDER BY 1`,
    });
    all.push(table, ...rows.map(({ row }) => row));
  }
  return all;
}
