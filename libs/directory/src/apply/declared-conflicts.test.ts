import { Code, ConnectError } from '@tessera/rpc';
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
  readonly [list: string]: unknown;
}

/** A tenant that the API made, and the identifier of another one that there is not yet. */
async function world(on = database) {
  const { files, api } = startRecords(on);
  const number = (count += 1);
  const [id, other] = [`conflicts${number}`, `conflicts${number}-other`];
  await api.tenants.create({ tenantId: id, tenant: { name: 'Acme' } }, call());
  const apply = async (tenants: readonly Declared[], more: object = {}) =>
    files.apply({ document: JSON.stringify({ tenants }), fileName: 'state.yaml', ...more }, call());
  return { api, id, other, apply };
}

/** The code, and each problem by key and sentence. */
async function refusal(work: Promise<unknown>): Promise<string[]> {
  const error: unknown = await work.then(
    () => 'nothing',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw new Error('It was not refused.', { cause: error });
  const lines = error.rawMessage.split('\n').map((line) => line.replace(/^state\.yaml:1:\d+: /, ''));
  return [Code[error.code], ...lines];
}
const shared = 'shares a user name, e-mail address or phone number with another user of the tenant';
const spelled =
  'is an audience of the tenant already, with or without the path "/": they are one URI (RFC 3986 §6.2.3)';
const withoutSecret = 'is required for a new provider, and if issuer or clientId change';

describe('a declared state that clashes with records of others', () => {
  it('is no mistake; beside mistakes, which come first, both are named', async () => {
    const { api, id, apply } = await world();
    await api.users.create({ tenantId: id, user: { username: 'eve', email: 'bob@acme.example' } }, call());
    const users = [{ username: 'bob', email: 'bob@acme.example' }];
    const clash = `tenants[0].users[0]: ${shared}`;
    expect(await refusal(apply([{ id, users }]))).toEqual(['FailedPrecondition', clash]);
    const audience = `https://api.${id}.example`;
    const resources = [audience, `${audience}/`].map((each) => ({ audience: each, name: 'API' }));
    expect(await refusal(apply([{ id, users, resources }]))).toEqual([
      'InvalidArgument',
      `tenants[0].resources[1].audience: ${spelled}`,
      clash,
    ]);
    expect(await refusal(apply([{ id, users, colour: 'blue' }]))).toEqual([
      'InvalidArgument',
      'tenants[0].colour: is not a known key',
      clash,
    ]);
  });

  it('is no mistake if they are of another tenant that the file declares too', async () => {
    const { api, id, other, apply } = await world();
    const audience = `https://api.${id}.example`;
    await api.resources.create({ tenantId: id, resource: { audience, name: 'API' } }, call());
    const declaring = (at: string) => ({
      id: other,
      name: other,
      resources: [{ audience: at, name: 'API' }],
    });
    await expect(apply([{ id }, declaring(audience)])).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringContaining(
        'tenants[1].resources[0].audience: is declared by another',
      ) as string,
    });
    const both = [
      { id, resources: [{ audience: `${audience}/2`, name: 'API' }] },
      declaring(`${audience}/2`),
    ];
    await expect(apply(both)).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringContaining(`Failed: ${other}. Applied before: ${id}.`) as string,
    });
  });

  it('is no mistake if it refers to a role, a provider or a tenant that they deleted', async () => {
    const { api, id, apply } = await world();
    await api.roles.create({ tenantId: id, role: { name: 'clerk' } }, call());
    const okta = { name: 'okta', issuer: 'https://okta.example', clientId: 'tessera' };
    const users = [{ username: 'bob', roles: ['clerk'] }];
    await apply([{ id, users, providers: [{ ...okta, clientSecret: 'a secret of the provider' }] }]);
    await apply([{ id, users, providers: [okta] }]);
    const desk = { owner: 'desk', takeOver: true, allowDelete: true };
    await apply([{ id, users: [{ username: 'bob' }], providers: [okta] }], desk);
    await apply([{ id }], desk);
    await api.roles.delete({ tenantId: id, name: 'clerk' }, call());
    const lost = [
      'tenants[0].users[0].roles[0]: is not a role of the tenant',
      `tenants[0].providers[0].clientSecret: ${withoutSecret}`,
    ];
    expect(await refusal(apply([{ id, users, providers: [okta] }]))).toEqual(['FailedPrecondition', ...lost]);
    await api.tenants.delete({ tenantId: id }, call());
    expect(await refusal(apply([{ id }]))).toEqual([
      'FailedPrecondition',
      'tenants[0].name: is required, as there is no such tenant yet',
    ]);
    expect(await refusal(apply([{ id, name: 'Acme', providers: [okta] }]))).toEqual([
      'FailedPrecondition',
      lost[1],
    ]);
    // An entry with a name has all that it refers to: `tessera check` refuses this one too.
    expect(await refusal(apply([{ id, name: 'Acme', users, providers: [okta] }]))).toEqual([
      'InvalidArgument',
      lost[0],
    ]);
  });

  it('is none in a directory without tenants, where there are no others', async () => {
    const empty = await testDatabase(migrations);
    const { api, id, apply } = await world(empty);
    const incomplete = [
      { id: 'unknown' },
      {
        id: 'fresh',
        name: 'Fresh',
        providers: [{ name: 'okta', issuer: 'https://okta.example', clientId: 'x' }],
      },
    ];
    const missing = [
      'tenants[0].name: is required, as there is no such tenant yet',
      `tenants[1].providers[0].clientSecret: ${withoutSecret}`,
    ];
    expect(await refusal(apply(incomplete))).toEqual(['FailedPrecondition', ...missing]);
    await api.tenants.delete({ tenantId: id }, call());
    expect(await refusal(apply(incomplete))).toEqual(['InvalidArgument', ...missing]);
  });
});
