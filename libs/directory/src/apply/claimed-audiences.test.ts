import { Code } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

let database: Database;
let count = 0;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

interface Declared {
  readonly id: string;
  readonly name?: string;
  readonly issuer?: string;
  readonly resources?: readonly object[];
}

const pay = (audience: string, more: object = {}) => ({
  audience,
  name: 'Pay',
  scopes: ['pay.all'],
  ...more,
});

/** Two tenants of their own, and an audience. */
function world() {
  const { files, api } = startRecords(database);
  const number = (count += 1);
  const [one, other] = [`claims${number}-one`, `claims${number}-other`];
  const apply = async (tenants: readonly Declared[], more: object = {}) =>
    files.apply(
      { document: JSON.stringify({ tenants }), fileName: 'state.yaml', allowDelete: true, ...more },
      call(),
    );
  const audiencesOf = async (tenantId: string) =>
    (await api.resources.list({ tenantId }, call())).resources.map(({ audience }) => audience);
  return { apply, api, one, other, audiencesOf, audience: `https://pay${number}.example` };
}

/** By a mistake of the file alone. */
const refused = (message: string, code = Code.InvalidArgument) => ({
  code,
  rawMessage: expect.stringContaining(message) as string,
});
/** By what others have. */
const conflict = (message: string) => refused(message, Code.FailedPrecondition);

describe('an audience of another tenant at the shared issuer', () => {
  it('does not come there with a tenant whose file drops its issuer, though the API declared it', async () => {
    const { apply, api, one, other, audience, audiencesOf } = world();
    await apply([{ id: one, name: 'Victim', resources: [pay(audience)] }]);
    await apply([{ id: other, name: 'D', issuer: `https://${other}.example` }]);
    const theirs = { audience, name: 'Mine', scopes: [{ name: 'pay.all' }] };
    await api.resources.create({ tenantId: other, resource: theirs }, call());
    await expect(apply([{ id: other, name: 'D' }])).rejects.toMatchObject(
      conflict(`tenants[0].issuer: the audience ${audience} of the tenant is declared by another tenant`),
    );
    const tenant = await api.tenants.get({ tenantId: other }, call());
    expect(tenant.issuer).toBe(`https://${other}.example`);
    await api.resources.delete({ tenantId: other, audience }, call());
    await apply([{ id: other, name: 'D' }]);
    expect(await audiencesOf(other)).toEqual([]);
  });

  it('does not come there with a file of another owner that takes the tenant over', async () => {
    const { apply, one, other, audience } = world();
    await apply([{ id: one, name: 'Victim', resources: [pay(audience)] }]);
    await apply([{ id: other, name: 'D', issuer: `https://${other}.example`, resources: [pay(audience)] }], {
      owner: 'first',
    });
    await expect(
      apply([{ id: other, name: 'D' }], { owner: 'second', takeOver: true }),
    ).rejects.toMatchObject(conflict('tenants[0].issuer: the audience'));
  });

  it('does not come there by two entries of a file that only refer to their tenants', async () => {
    const { apply, api, one, other, audience, audiencesOf } = world();
    for (const id of [one, other]) await api.tenants.create({ tenantId: id, tenant: { name: id } }, call());
    const file = [one, other].map((id) => ({ id, resources: [pay(audience)] }));
    const taken = 'tenants[1].resources[0].audience: is declared by another tenant of the same issuer';
    await expect(apply(file)).rejects.toMatchObject(conflict(taken));
    await expect(apply(file)).rejects.toMatchObject(conflict(`Failed: ${other}. Applied before: ${one}.`));
    expect([await audiencesOf(one), await audiencesOf(other)]).toEqual([[audience], []]);
    const named = { id: other, name: other, resources: [pay(audience)] };
    await expect(
      apply([{ id: one, resources: [pay(audience)] }, named], { takeOver: true }),
    ).rejects.toMatchObject(conflict('tenants[1].resources[0].audience'));
    await apply([one, other].map((id) => ({ id, resources: [pay(audience, { shared: true })] })));
    expect([await audiencesOf(one), await audiencesOf(other)]).toEqual([[audience], [audience]]);
  });

  it('is had by a tenant that refers to its own issuer', async () => {
    const { apply, api, one, other, audience, audiencesOf } = world();
    const issuer = `https://${other}.example`;
    await api.tenants.create({ tenantId: one, tenant: { name: one } }, call());
    await api.tenants.create({ tenantId: other, tenant: { name: other, issuer } }, call());
    await apply([one, other].map((id) => ({ id, resources: [pay(audience)] })));
    expect([await audiencesOf(one), await audiencesOf(other)]).toEqual([[audience], [audience]]);
  });

  it('moves within one file, whatever the order of its tenants, but two do not change places', async () => {
    const { apply, one, other, audience, audiencesOf } = world();
    const [first, second] = [`${audience}/first`, `${audience}/second`];
    const declaring = (ofOne: readonly object[], ofOther: readonly object[]) => [
      { id: one, name: one, resources: ofOne },
      { id: other, name: other, resources: ofOther },
    ];
    await apply(declaring([], [pay(first)]));
    const { tenants } = await apply(declaring([pay(first)], []));
    expect(tenants.map(({ tenantId }) => tenantId)).toEqual([one, other]);
    expect([await audiencesOf(one), await audiencesOf(other)]).toEqual([[first], []]);
    await apply(declaring([], [pay(first)]));
    expect([await audiencesOf(one), await audiencesOf(other)]).toEqual([[], [first]]);
    await apply(declaring([pay(second)], [pay(first)]));
    await expect(apply(declaring([pay(first)], [pay(second)]))).rejects.toMatchObject(
      conflict('is declared by another tenant of the same issuer'),
    );
    const third = `${one}-third`;
    await expect(
      apply([{ id: third, name: third }, ...declaring([pay(first)], [pay(second)])]),
    ).rejects.toMatchObject(conflict(`Failed: ${one}, ${other}. Applied before: ${third}.`));
    expect([await audiencesOf(one), await audiencesOf(other)]).toEqual([[second], [first]]);
  });

  it('stays where it is from before, and keeps nothing else from being changed', async () => {
    const { apply, api, one, other, audience, audiencesOf } = world();
    const issuer = `https://${other}.example`;
    await apply([{ id: one, name: one, resources: [pay(audience)] }]);
    await apply([{ id: other, name: other, issuer, resources: [pay(audience)] }], { owner: 'team' });
    await database.query({
      name: 'test.bring_back',
      text: `UPDATE directory.tenant SET issuer = '' WHERE tenant_id = $1`,
      values: [other],
    });
    const file = [{ id: other, name: 'Other', resources: [pay(audience, { name: 'Till' })] }];
    await apply(file, { owner: 'team' });
    expect(await audiencesOf(other)).toEqual([audience]);
    await api.tenants.update({ tenantId: other, tenant: { name: 'Others' }, takeOver: true }, call());
    const shares = { audience, shared: true };
    await api.resources.update({ tenantId: other, resource: shares, takeOver: true }, call());
    // Back again it would be claimed anew.
    await expect(
      api.resources.update(
        { tenantId: other, resource: { audience, shared: false }, updateMask: { paths: ['shared'] } },
        call(),
      ),
    ).rejects.toMatchObject({ code: Code.AlreadyExists });
  });

  it.each([
    ['', '/'],
    ['/', ''],
    ['?v=1', '/?v=1'],
  ])(
    'is not had in the other spelling, which is the same URI (RFC 3986 §6.2.3): %j, then %j',
    async (here, there) => {
      const { apply, api, one, other, audience, audiencesOf } = world();
      const declared = (id: string, path: string, more: object = {}) => ({
        id,
        name: id,
        resources: [pay(`${audience}${path}`, more)],
      });
      await apply([declared(one, here)]);
      const elsewhere = 'is declared by another tenant of the same issuer';
      await expect(apply([declared(other, there)])).rejects.toMatchObject(conflict(elsewhere));
      await expect(apply([declared(one, here), declared(other, there)])).rejects.toMatchObject(
        conflict(elsewhere),
      );
      await expect(apply([declared(other, there, { shared: true })])).rejects.toMatchObject(
        conflict(elsewhere),
      );
      await api.tenants.create({ tenantId: other, tenant: { name: other } }, call());
      const theirs = { audience: `${audience}${there}`, name: 'Mine' };
      await expect(api.resources.create({ tenantId: other, resource: theirs }, call())).rejects.toMatchObject(
        {
          code: Code.AlreadyExists,
          rawMessage: expect.stringContaining(`${theirs.audience}: ${elsewhere}`) as string,
        },
      );
      const shared = { shared: true };
      await apply([declared(one, here, shared), declared(other, there, shared)], { takeOver: true });
      await expect(apply([declared(other, there)])).rejects.toMatchObject(conflict(elsewhere));
      expect(await audiencesOf(other)).toEqual([theirs.audience]);
    },
  );
});

describe('a client ID of another tenant at the shared issuer', () => {
  it('is no audience, whatever the typ: verifiers of ID tokens look at issuer, audience and signature alone', async () => {
    const { api, one, other } = world();
    for (const id of [one, other]) await api.tenants.create({ tenantId: id, tenant: { name: id } }, call());
    const clientId = `${one}-kubernetes`;
    const redirectUris = ['http://localhost:8000'];
    const application = { name: 'K', type: 'public', grantTypes: ['authorization_code'], redirectUris };
    await api.applications.create(
      { tenantId: one, application: { clientId, scopes: ['openid'], ...application } },
      call(),
    );
    const resource = { audience: clientId, name: 'Mine', scopes: [{ name: 'mine.read' }] };
    await expect(api.resources.create({ tenantId: other, resource }, call())).rejects.toMatchObject({
      code: Code.AlreadyExists,
    });
  });
});

describe('both spellings of one URI in a tenant', () => {
  const twice = 'is an audience of the tenant already, with or without the path "/"';

  it('are refused by a file and by the API, for every owner of the first', async () => {
    const { apply, api, one, audience } = world();
    const both = [pay(audience), pay(`${audience}/`, { scopes: ['pay.some'] })];
    await expect(apply([{ id: one, name: one, resources: both }])).rejects.toMatchObject(
      refused(`tenants[0].resources[1].audience: ${twice}`),
    );
    await apply([{ id: one, name: one, resources: [pay(audience)] }]);
    await expect(
      apply([{ id: one, resources: [pay(`${audience}/`, { scopes: ['pay.some'] })] }], { owner: 'team' }),
    ).rejects.toMatchObject(conflict(`tenants[0].resources[0].audience: ${twice}`));
    const resource = { audience: `${audience}/`, name: 'Pay' };
    await expect(api.resources.create({ tenantId: one, resource }, call())).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: expect.stringContaining(twice) as string,
    });
    await apply([{ id: one, name: one, resources: [pay(`${audience}/`)] }]);
  });

  it('stay as they are from before, and keep nothing else from being changed', async () => {
    const { apply, api, one, audience, audiencesOf } = world();
    const [first, second] = [pay(`${audience}/1`), pay(`${audience}/2`, { scopes: ['pay.some'] })];
    await apply([{ id: one, name: one, resources: [first, second] }]);
    for (const [from, to] of [
      ['/1', ''],
      ['/2', '/'],
    ])
      await database.query({
        name: 'test.spell',
        text: `WITH moved AS (UPDATE directory.scope SET audience = $2 WHERE tenant_id = $3 AND audience = $1),
                    made AS (INSERT INTO directory.api_resource (tenant_id, audience, name)
                             VALUES ($3, $2, 'Pay'))
               DELETE FROM directory.api_resource WHERE tenant_id = $3 AND audience = $1`,
        values: [`${audience}${from}`, `${audience}${to}`, one],
      });
    const file = (name: string) => ({
      id: one,
      name,
      resources: [pay(audience), pay(`${audience}/`, { scopes: ['pay.some', 'pay.more'] })],
    });
    await apply([file('One')]);
    await apply([file('Won')]);
    const resource = { audience, name: 'Till' };
    await api.resources.update({ tenantId: one, resource, takeOver: true }, call());
    expect((await audiencesOf(one)).toSorted()).toEqual([audience, `${audience}/`]);
  });
});
