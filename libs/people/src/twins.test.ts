import { randomBytes } from 'node:crypto';
import { migrations } from '@tessera/directory';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { setRecoveryCodes, useRecoveryCode } from './recovery/recovery-codes.postgres.ts';
import { giveIdentity, givePasskey, givePassword, putProvider } from './testing/give-ways-in.ts';
import { call, startDirectory } from './testing/start-directory.ts';

type Api = ReturnType<typeof startDirectory>['api'];
interface Twin {
  readonly tenantId: string;
  readonly userId: string;
}

const runtime = {
  clock: { now: () => Date.now() },
  random: { bytes: (length: number) => randomBytes(length) },
};
const code = Buffer.alloc(32, 7);
const origin = { ipAddress: '203.0.113.9', requestId: 'r' };

let database: Database;
let count = 0;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** All ways in and factors of a person. */
async function giveAll(twin: Twin): Promise<void> {
  await givePassword(database, twin);
  await givePasskey(database, twin);
  await giveIdentity(database, twin, 'corp');
  await database.query({
    name: 'test.give_app',
    text: `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ($1, $2, 'x', 0)`,
    values: [twin.tenantId, twin.userId],
  });
  await database.transaction(async (tx) => setRecoveryCodes(tx, twin, [code]));
}

/** Two tenants that moved from one realm: each has a person with the same identifier. */
async function world() {
  const { api } = startDirectory(database);
  const userId = `person-${(count += 1)}`;
  const [ours, theirs] = ['north', 'south'].map((name) => ({ tenantId: `${name}${count}`, userId })) as [
    Twin,
    Twin,
  ];
  for (const { tenantId } of [ours, theirs]) {
    const tenant = { name: tenantId, issuer: `https://${tenantId}.example/realms/harbour` };
    await api.tenants.create({ tenantId, tenant }, call());
    await api.users.create(
      { tenantId, user: { username: 'eve', email: 'eve@people.example', userId } },
      call(),
    );
    await putProvider(database, tenantId, 'corp');
  }
  return { api, ours, theirs };
}

/** Every row of a tenant in the schema. */
async function rowsOf({ tenantId }: Twin): Promise<string> {
  const { rows } = await database.query<{ readonly of: string }>({
    name: 'test.tables_of_tenants',
    text: `SELECT c.table_name AS of FROM information_schema.columns c
             JOIN information_schema.tables t USING (table_schema, table_name)
            WHERE c.table_schema = 'directory' AND c.column_name = 'tenant_id' AND t.table_type = 'BASE TABLE'
            ORDER BY 1`,
    values: [],
  });
  const found: Record<string, unknown> = {};
  for (const { of } of rows) {
    const { rows: all } = await database.query({
      name: `test.rows_of_${of}`,
      text: `SELECT to_jsonb(t)::text AS row FROM directory."${of}" t WHERE tenant_id = $1 ORDER BY 1`,
      values: [tenantId],
    });
    if (all.length > 0) found[of] = all;
  }
  return JSON.stringify(found, undefined, 1);
}

describe('people of two tenants with the same identifier', () => {
  it('are read each with what is theirs', async () => {
    const { api, ours, theirs } = await world();
    const before = await api.users.getCredentials(theirs, call());
    await giveAll(ours);
    await api.users.createPasswordLink({ ...ours, purpose: 'reset' }, call());
    expect(await api.users.getCredentials(ours, call())).toMatchObject({
      waysIn: ['password', 'passkey', 'provider'],
      hasTotp: true,
      recoveryCodes: 1,
    });
    expect(await api.users.getCredentials(theirs, call())).toEqual(before);
    expect(before).toMatchObject({
      waysIn: [],
      hasTotp: false,
      recoveryCodes: 0,
      passkeys: [],
      providers: [],
    });
  });

  const user = { username: 'eve', email: 'eve@people.example' };
  const acts: readonly (readonly [string, (api: Api, of: Twin) => Promise<unknown>])[] = [
    ['is locked down', async ({ users }, of) => users.lockDown(of, call())],
    ['loses the second factors', async ({ users }, of) => users.resetSecondFactors(of, call())],
    [
      'loses a passkey',
      async ({ users }, of) =>
        users.deleteCredential({ ...of, credential: { case: 'passkeyId', value: of.userId } }, call()),
    ],
    [
      'is unlinked',
      async ({ users }, of) =>
        users.deleteCredential({ ...of, credential: { case: 'provider', value: 'corp' } }, call()),
    ],
    [
      'loses the app',
      async ({ users }, of) =>
        users.deleteCredential({ ...of, credential: { case: 'totp', value: true } }, call()),
    ],
    ['gets a link', async ({ users }, of) => users.createPasswordLink({ ...of, purpose: 'reset' }, call())],
    [
      'gets a password',
      async ({ users }, { tenantId, userId }) =>
        users.update({ tenantId, user: { ...user, userId, password: 'a passphrase of eve' } }, call()),
    ],
    [
      'is disabled',
      async ({ users }, { tenantId, userId }) =>
        users.update(
          { tenantId, user: { userId, status: 'disabled' }, updateMask: { paths: ['status'] } },
          call(),
        ),
    ],
    ['is deleted', async ({ users }, of) => users.delete(of, call())],
    [
      'uses a recovery code',
      async (_api, of) => useRecoveryCode(database, runtime, of, { ...origin, digest: code }),
    ],
  ];
  it.each(acts)('change alone where one %s', async (_what, act) => {
    const { api, ours, theirs } = await world();
    for (const twin of [ours, theirs]) await giveAll(twin);
    const [mine, before] = [await rowsOf(ours), await rowsOf(theirs)];
    await act(api, ours);
    expect(await rowsOf(theirs)).toBe(before);
    expect(await rowsOf(ours), 'the act does something').not.toBe(mine);
  });
});
