import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

let count = 0;
const auditor = 'users: [{ username: ada, roles: [tessera.auditor] }]';

/** A tenant that is declared again and again, and what is said each time: by a comparison, and then by applying it. */
function declaring(settings: Readonly<Record<string, string>> = {}) {
  const tenantId = `powers${(count += 1)}`;
  const { admin, api } = startRecords(database, {
    settings: Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [name, value.replace('TENANT', tenantId)]),
    ),
  });
  return {
    tenantId,
    users: api.users,
    async said(...lines: string[]): Promise<readonly string[]> {
      const document = [
        'tenants:',
        `  - id: ${tenantId}`,
        '    name: Acme',
        ...lines.map((line) => `    ${line}`),
      ];
      const request = { document: document.join('\n'), fileName: 'state.yaml' };
      const compared = await admin.diff(request, call());
      const allowed = { ...request, allowDelete: true, allowAdministration: true };
      const applied = await admin.apply(allowed, call());
      expect(applied.tenants[0]?.warnings).toEqual(compared.tenants[0]?.warnings);
      return applied.tenants.flatMap(({ warnings }) => warnings);
    },
  };
}

const sentence = (tenantId: string, named: string): string =>
  `${named} can administer nothing: ${tenantId} has no issuer of its own and is not the operator tenant ` +
  '(TESSERA_OPERATOR_TENANT); give it an issuer, or give the role in the operator tenant';

describe('a built-in role in a tenant at the shared issuer that is not the operator tenant', () => {
  it('is said to have no effect when a file gives it, and not again', async () => {
    const { tenantId, said } = declaring({ TESSERA_OPERATOR_TENANT: 'ops' });
    const of = (named: string) => [sentence(tenantId, named)];
    expect(await said(auditor)).toEqual(of('ada (tessera.auditor)'));
    expect(await said(auditor)).toEqual([]);
    expect(await said('users: [{ username: ada, roles: [tessera.auditor, tessera.helpdesk] }]')).toEqual(
      of('ada (tessera.helpdesk)'),
    );
  });

  it('is said to have none from then on when its tenant moves to the shared issuer', async () => {
    const { tenantId, said } = declaring();
    const issuer = `issuer: https://${tenantId}.example`;
    expect(await said(issuer, auditor)).toEqual([]);
    expect(await said(auditor)).toEqual([sentence(tenantId, 'ada (tessera.auditor)')]);
    expect(await said(issuer, auditor)).toEqual([]);
  });

  it('is not mentioned in the operator tenant, nor are roles of the tenant', async () => {
    expect(await declaring({ TESSERA_OPERATOR_TENANT: 'TENANT' }).said(auditor)).toEqual([]);
    expect(await declaring().said('roles: [clerk]', 'users: [{ username: ada, roles: [clerk] }]')).toEqual(
      [],
    );
  });

  it('names ten of many people', async () => {
    const { tenantId, said } = declaring();
    const names = Array.from({ length: 12 }, (_, at) => `u${at}`);
    const people = names.map((username) => `{ username: ${username}, roles: [tessera.helpdesk] }`);
    const ten = names.slice(0, 10).map((username) => `${username} (tessera.helpdesk)`);
    expect(await said(`users: [${people.join(', ')}]`)).toEqual([
      sentence(tenantId, [...ten, '2 more'].join(', ')),
    ]);
  });

  it('is said to have no effect in the answer to a call that gives it, or would, and in no other', async () => {
    const { tenantId, said, users } = declaring();
    await said();
    const given = (roles: readonly string[]) => ({ username: 'eve', roles: [...roles] });
    const warnings = [sentence(tenantId, 'eve (tessera.administrator)')];
    const create = { tenantId, user: given(['tessera.administrator']), requestId: '' };
    expect((await users.create({ ...create, validateOnly: true }, call())).warnings).toEqual(warnings);
    const { userId, ...made } = await users.create({ ...create, user: given([]) }, call());
    expect(made.warnings).toEqual([]);
    const change = { tenantId, user: { userId, ...given(['tessera.administrator']) } };
    const update = async () =>
      (await users.update({ ...change, updateMask: { paths: ['roles'] } }, call())).warnings;
    expect(await update()).toEqual(warnings);
    expect(await update()).toEqual([]);
    expect((await users.get({ tenantId, userId }, call())).warnings).toEqual([]);
  });
});
