import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { silentLog, testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';
import { applyAtStart } from './apply-at-start.ts';

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
  const { admin } = startRecords(database);
  const tenantId = `guarded${(count += 1)}`;
  const documentOf = (lines: readonly string[]) =>
    [`tenants:`, `  - id: ${tenantId}`, `    name: Acme`, ...lines.map((line) => `    ${line}`)]
      .join('\n')
      .replaceAll('TENANT', tenantId);
  const request = (lines: readonly string[]) => ({ document: documentOf(lines), fileName: 'state.yaml' });
  return {
    tenantId,
    apply: async (...lines: string[]) =>
      admin.apply({ ...request(lines), allowDelete: true, allowAdministration: true }, call()),
    /** What the directory says of applying these lines without permission, and what `diff` tells before. */
    async refusal(...lines: string[]) {
      const { tenants } = await admin.diff(request(lines), call());
      const told = tenants.flatMap(({ administration }) =>
        administration.map(({ kind, name, powers }) => `${kind} ${name}: ${powers.join(', ')}`),
      );
      const before = JSON.stringify(await states());
      const error: unknown = await admin
        .apply({ ...request(lines), allowDelete: true }, call())
        .then(() => undefined)
        .catch((reason: unknown) => reason);
      if (error !== undefined) expect(JSON.stringify(await states())).toBe(before);
      return { told, error };
    },
  };

  async function states() {
    const documents: string[] = [];
    for await (const { document } of admin.getDeclaredState({}, call())) documents.push(document);
    return documents;
  }
}

function refusedFor(tenantId: string, ...given: string[]) {
  const lines = given.map((line) => `\n${tenantId}: ${line}`).join('');
  return {
    told: given,
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
    const { admin, as } = startRecords(database);
    const directory = await mkdtemp(join(tmpdir(), 'tessera-guard-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const file = join(directory, 'state.yaml');
    await writeFile(file, `tenants: [{ id: started, name: Acme, ${ada('tessera.auditor')} }]`);
    const logged: unknown[] = [];
    const log = Object.assign(silentLog(), { error: (...line: unknown[]) => logged.push(line) });
    const lifecycle = { onReload: () => undefined };
    const options = { file, exposure: { TESSERA_DEMO: false }, admin, environment: {}, call, log, lifecycle };
    const found = async () => as('device').findUser({ tenantId: 'started', identifier: 'ada' }, call());
    await applyAtStart({ ...options, allowDelete: true, allowAdministration: false });
    const reason = expect.stringContaining('\nstarted: user ada: tessera.auditor\n') as string;
    expect(logged).toEqual([[{ event: 'apply.refused', file, reason }, 'declared state not applied']]);
    await expect(found()).rejects.toMatchObject({ code: Code.NotFound });
    await applyAtStart({ ...options, allowDelete: false, allowAdministration: true });
    expect((await found()).user?.username).toBe('ada');
  });
});
