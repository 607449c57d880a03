import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { silentLog, testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { call, startRecords } from '../../testing/start-records.ts';
import { migrations } from '../../wiring.ts';
import { applyAtStart } from '../apply-at-start.ts';

let database: Database;
let count = 0;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

const robot = (scopes: string, status = 'active') =>
  `applications: [{ clientId: TENANT-robot, name: Robot, type: public, grantTypes: [device_code], status: ${status}, scopes: [${scopes}] }]`;
const ada = (roles: string, status = 'active') =>
  `users: [{ username: ada, status: ${status}, roles: [${roles}] }]`;
const api = 'resources: [{ audience: "https://api.TENANT.example", name: API, scopes: [admin.users.write] }]';

/** A tenant that a file may declare again and again. */
function declaring() {
  const {
    files,
    api: { tenants },
  } = startRecords(database);
  const tenantId = `guarded${(count += 1)}`;
  const documentOf = (lines: readonly string[]) =>
    [`tenants:`, `  - id: ${tenantId}`, `    name: Acme`, ...lines.map((line) => `    ${line}`)]
      .join('\n')
      .replaceAll('TENANT', tenantId);
  const request = (lines: readonly string[]) => ({ document: documentOf(lines), fileName: 'state.yaml' });
  return {
    tenantId,
    apply: async (...lines: string[]) =>
      files.apply({ ...request(lines), allowDelete: true, allowAdministration: true }, call()),
    /** What the directory says of applying these lines without permission, and what `diff` tells before. */
    async refusal(...lines: string[]) {
      const compared = await files.diff(request(lines), call());
      const told = compared.tenants.flatMap(({ administration }) =>
        administration.map(({ kind, name, powers, by }) => {
          const reason = by.length === 0 ? '' : ` (by ${by.join(', ')})`;
          return `${kind} ${name}: ${powers.join(', ')}${reason}`;
        }),
      );
      const before = JSON.stringify(await states());
      const error: unknown = await files
        .apply({ ...request(lines), allowDelete: true }, call())
        .then(() => undefined)
        .catch((reason: unknown) => reason);
      if (error !== undefined) expect(JSON.stringify(await states())).toBe(before);
      return { told, error };
    },
  };

  async function states() {
    return files.all(tenants, call());
  }
}

/** Of bcrypt, as other products have it. */
const bcryptHash = '$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy';

/** @param given who gets what; a text that begins with a space is the reason of the one before */
function refusedFor(tenantId: string, ...given: string[]) {
  const told = given.reduce<string[]>(
    (lines, text) =>
      text.startsWith(' ') ? [...lines.slice(0, -1), `${lines.at(-1)}${text}`] : [...lines, text],
    [],
  );
  const lines = told.map((text) => `\n${tenantId}: ${text}`).join('');
  return {
    told,
    error: expect.objectContaining({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringContaining(`powers over the administration:${lines}\nRemove these`) as string,
    }) as unknown,
  };
}

const accepted = { told: [], error: undefined };

describe('a file that gives powers over the administration is refused with a list, unless they are allowed', () => {
  it('by a built-in role of a person, new or not, once', async () => {
    const { tenantId, apply, refusal } = declaring();
    const refused = refusedFor(tenantId, 'user ada: tessera.helpdesk');
    expect(await refusal(ada('tessera.helpdesk'))).toEqual(refused);
    await apply(ada(''));
    expect(await refusal(ada('tessera.helpdesk'))).toEqual(refused);
    await apply(ada('tessera.helpdesk'));
    expect(await refusal(ada('tessera.helpdesk'))).toEqual(accepted);
    expect(await refusal(ada('tessera.helpdesk, tessera.administrator'))).toEqual(
      refusedFor(tenantId, 'user ada: tessera.administrator'),
    );
  });

  it('by a built-in scope of an application, but not by one of an API of the tenant', async () => {
    const { tenantId, apply, refusal } = declaring();
    expect(await refusal(robot('openid, admin.users.write'))).toEqual(
      refusedFor(tenantId, `application ${tenantId}-robot: admin.users.write`),
    );
    expect(await refusal(api, robot('openid, admin.users.write'))).toEqual(accepted);
    await apply(api, robot('openid, admin.users.write'));
    // Without the API the name means the built-in scope.
    expect(await refusal(robot('openid, admin.users.write'))).toEqual(
      refusedFor(tenantId, `application ${tenantId}-robot: admin.users.write`),
    );
  });

  it('by making active again who holds one', async () => {
    const { tenantId, apply, refusal } = declaring();
    const held = [ada('tessera.auditor', 'disabled'), robot('admin.keys.read', 'disabled')];
    await apply(...held);
    expect(await refusal(...held)).toEqual(accepted);
    expect(await refusal(ada('tessera.auditor'), robot('admin.keys.read'))).toEqual(
      refusedFor(tenantId, 'user ada: tessera.auditor', `application ${tenantId}-robot: admin.keys.read`),
    );
  });

  it('by making active again the tenant of who holds one', async () => {
    const { tenantId, apply, refusal } = declaring();
    const held = [ada('tessera.auditor'), robot('admin.keys.read')];
    await apply('status: disabled', ...held);
    expect(await refusal('status: disabled', ...held)).toEqual(accepted);
    // A status that is not declared stays as it is.
    expect(await refusal(...held)).toEqual(accepted);
    expect(await refusal('status: active', ...held)).toEqual(
      refusedFor(tenantId, 'user ada: tessera.auditor', `application ${tenantId}-robot: admin.keys.read`),
    );
    await apply('status: active', ...held);
    expect(await refusal('status: active', ...held)).toEqual(accepted);
  });

  const holding = 'roles: [tessera.auditor]';
  const [first, second] = ['the first long password', 'another long password'];
  it.each([
    ['password', `password: ${first}`, `password: ${second}`],
    ['password', '', `password: ${second}`],
    ['password', `password: ${first}`, `passwordHash: '${bcryptHash}'`],
    ['email', 'email: ada@acme.example', 'email: eve@acme.example'],
    ['emailVerified', 'email: ada@acme.example', 'email: ada@acme.example, emailVerified: true'],
  ])('by another %s of a person who holds one: %s, then %s', async (key, before, after) => {
    const { tenantId, apply, refusal } = declaring();
    const declared = (more: string) => `users: [{ username: ada, ${holding}${more && `, ${more}`} }]`;
    await apply(declared(before));
    expect(await refusal(declared(before))).toEqual(accepted);
    expect(await refusal(declared(after))).toEqual(
      refusedFor(tenantId, 'user ada: tessera.auditor', ` (by ${key})`),
    );
    await apply(declared(after));
    expect(await refusal(declared(after))).toEqual(accepted);
    // Others have a new one as they like.
    await apply(declared(before).replace(holding, 'roles: []'));
    expect(await refusal(declared(after).replace(holding, 'roles: []'))).toEqual(accepted);
  });

  it.each([
    ['status: disabled', ''],
    ['status: locked', ''],
    ['', 'status: disabled'],
  ])('by another password of who administers again once they are activated: %s%s', async (own, ofTenant) => {
    const { tenantId, apply, refusal } = declaring();
    const declared = (password: string) => [
      ...(ofTenant === '' ? [] : [ofTenant]),
      `users: [{ username: ada, ${holding}, password: ${password}${own && `, ${own}`} }]`,
    ];
    await apply(...declared(first));
    expect(await refusal(...declared(first))).toEqual(accepted);
    expect(await refusal(...declared(second))).toEqual(
      refusedFor(tenantId, 'user ada: tessera.auditor', ' (by password)'),
    );
  });

  it('by the password of an administrator before any tenant of the file is written', async () => {
    const { files } = startRecords(database);
    const file = (name: string, password: string) => {
      const users = [{ username: 'ada', roles: ['tessera.auditor'], password }];
      const tenants = [
        { id: 'written-first', name },
        { id: 'written-last', name, users },
      ];
      return { document: JSON.stringify({ tenants }), fileName: 'state.yaml' };
    };
    await files.apply({ ...file('Before', first), allowAdministration: true }, call());
    await expect(files.apply(file('After', second), call())).rejects.toMatchObject({
      rawMessage: expect.stringMatching(/^Nothing was applied: /) as string,
    });
    const { tenants } = await files.apply(file('After', first), call());
    expect(tenants.map(({ updated }) => updated)).toEqual([1, 1]);
  });

  it('by a hash of a password in the place of one that a sign-in made anew, if it is another', async () => {
    const { tenantId, apply, refusal } = declaring();
    const declared = (hash: string) => `users: [{ username: ada, ${holding}, passwordHash: '${hash}' }]`;
    await apply(declared(bcryptHash));
    await database.query({
      name: 'test.renew_hash',
      text: `UPDATE directory.user_account SET password_hash = 'renewed', imported_hash = sha256(convert_to($2, 'UTF8')) WHERE tenant_id = $1`,
      values: [tenantId, bcryptHash],
    });
    expect(await refusal(declared(bcryptHash))).toEqual(accepted);
    expect(await refusal(declared(bcryptHash.replace('$2a$', '$2b$')))).toEqual(
      refusedFor(tenantId, 'user ada: tessera.auditor', ' (by password)'),
    );
  });

  const secret = (letter: string, more = '') => `{ value: ${letter.repeat(32)}${more} }`;
  it.each([
    ['secrets', '', `secrets: [${secret('a')}, ${secret('b')}]`],
    ['secrets', '', `secrets: [${secret('b')}]`],
    ['secrets', `secrets: [${secret('a', ", expiresAt: '2030-01-01T00:00:00Z'")}]`, ''],
    ['redirectUris', '', 'redirectUris: [https://a.example/cb, https://evil.example/cb]'],
    ['redirectUriPrefixes', '', 'redirectUriPrefixes: [https://evil.example/]'],
    ['grantTypes', '', 'grantTypes: [authorization_code, client_credentials, device_code]'],
    ['ciba', '', 'ciba: { approval: webhook, url: https://evil.example/approve }'],
    ['type', '', 'type: public, secrets: [], grantTypes: [authorization_code]'],
    ['thirdParty', 'thirdParty: true', 'thirdParty: false'],
    [
      'loopbackPorts',
      "redirectUris: ['http://127.0.0.1/cb']",
      "redirectUris: ['http://127.0.0.1/cb'], loopbackPorts: any",
    ],
  ])('by other %s of an application that holds one: %s, then %s', async (key, before, after) => {
    const { tenantId, apply, refusal } = declaring();
    const usual = {
      type: 'confidential',
      secrets: `[${secret('a')}]`,
      redirectUris: '[https://a.example/cb]',
      grantTypes: '[authorization_code, client_credentials]',
    };
    const declared = (more: string) => {
      const rest = Object.entries(usual).filter(([name]) => !more.includes(`${name}: `));
      const texts = [...rest.map(([name, value]) => `${name}: ${value}`), ...(more === '' ? [] : [more])];
      return `applications: [{ clientId: TENANT-robot, name: Robot, scopes: [admin.keys.read], ${texts.join(', ')} }]`;
    };
    await apply(declared(before));
    expect(await refusal(declared(before))).toEqual(accepted);
    expect(await refusal(declared(before).replace('name: Robot', 'name: Rover'))).toEqual(accepted);
    await apply(declared(before));
    expect(await refusal(declared(after))).toEqual(
      refusedFor(tenantId, `application ${tenantId}-robot: admin.keys.read`, ` (by ${key})`),
    );
    await apply(declared(after));
    expect(await refusal(declared(after))).toEqual(accepted);
  });

  it('but not by what takes a way in from who holds one', async () => {
    const { apply, refusal } = declaring();
    const robotWith = (secrets: string, uris: string) =>
      `applications: [{ clientId: TENANT-robot, name: Robot, type: confidential, grantTypes: [authorization_code], scopes: [admin.keys.read], secrets: [${secrets}], redirectUris: [${uris}] }]`;
    const person = (email: string) => `users: [{ username: ada, ${holding}${email} }]`;
    await apply(
      robotWith(`${secret('a')}, ${secret('b')}`, 'https://a.example/cb, https://b.example/cb'),
      person(', email: ada@acme.example, emailVerified: true'),
    );
    const fewer = robotWith(secret('a', ", expiresAt: '2030-01-01T00:00:00Z'"), 'https://b.example/cb');
    expect(await refusal(fewer, person(''))).toEqual(accepted);
  });

  it('by another issuer of the tenant of who holds one, but not by the shared one', async () => {
    const { tenantId, apply, refusal } = declaring();
    const held = [ada('tessera.auditor'), robot('admin.keys.read')];
    const [here, there] = ['here', 'there'].map((host) => `issuer: https://${host}.TENANT.example`);
    const refused = refusedFor(
      tenantId,
      'user ada: tessera.auditor',
      ' (by issuer)',
      `application ${tenantId}-robot: admin.keys.read`,
      ' (by issuer)',
    );
    await apply(...held);
    expect(await refusal(here ?? '', ...held)).toEqual(refused);
    await apply(here ?? '', ...held);
    expect(await refusal(here ?? '', ...held)).toEqual(accepted);
    expect(await refusal(there ?? '', ...held)).toEqual(refused);
    const disabled = [ada('tessera.auditor', 'disabled'), robot('admin.keys.read', 'disabled')];
    expect(await refusal(...disabled)).toEqual(accepted);
    expect(await refusal(there ?? '', ...disabled)).toEqual(accepted);
    expect(await refusal(...disabled.map((line) => line.replace('disabled', 'active')))).toEqual(
      refusedFor(tenantId, 'user ada: tessera.auditor', `application ${tenantId}-robot: admin.keys.read`),
    );
  });

  it('but not by writing the name of who holds one in other letters', async () => {
    const { apply, refusal } = declaring();
    await apply(ada('tessera.auditor'));
    expect(await refusal(ada('tessera.auditor').replace('ada', 'Ada'))).toEqual(accepted);
  });

  it('also if the person of that name is another one', async () => {
    const { tenantId, apply, refusal } = declaring();
    await apply(ada('tessera.auditor'));
    await apply();
    expect(await refusal(ada('tessera.auditor'))).toEqual(refusedFor(tenantId, 'user ada: tessera.auditor'));
  });

  it('at the start of a process, which serves the earlier state', async () => {
    const {
      api: { declaredState },
      as,
    } = startRecords(database);
    const directory = await mkdtemp(join(tmpdir(), 'tessera-guard-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const file = join(directory, 'state.yaml');
    await writeFile(file, `tenants: [{ id: started, name: Acme, ${ada('tessera.auditor')} }]`);
    const logged: unknown[] = [];
    const log = Object.assign(silentLog(), { error: (...line: unknown[]) => logged.push(line) });
    const lifecycle = { onReload: () => undefined };
    const options = {
      file,
      exposure: { TESSERA_DEMO: false },
      declaredState,
      environment: {},
      call,
      log,
      lifecycle,
    };
    const found = async () => as('device').findUser({ tenantId: 'started', identifier: 'ada' }, call());
    await applyAtStart({ ...options, allowDelete: true, allowAdministration: false });
    const reason = expect.stringContaining('\nstarted: user ada: tessera.auditor\n') as string;
    expect(logged).toEqual([[{ event: 'apply.refused', file, reason }, 'declared state not applied']]);
    await expect(found()).rejects.toMatchObject({ code: Code.NotFound });
    await applyAtStart({ ...options, allowDelete: false, allowAdministration: true });
    expect((await found()).user?.username).toBe('ada');
  });
});
