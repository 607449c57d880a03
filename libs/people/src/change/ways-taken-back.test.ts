import { migrations } from '@tessera/directory';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { giveIdentity, givePasskey, putProvider } from '../testing/give-ways-in.ts';
import { mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** Eve has a passkey, a provider and recovery codes, as a file once declared. */
async function world() {
  const of = await mailWorld(database);
  const { tenantId, userId, files, query } = of;
  const eve = { tenantId, userId };
  await givePasskey(database, eve, 'laptop');
  await putProvider(database, tenantId, 'corp');
  await giveIdentity(database, eve, 'corp');
  const codes = `INSERT INTO directory.recovery_code (tenant_id, user_id, digest) VALUES ($1, $2, 'x')`;
  await query('give_codes', codes, tenantId, userId);
  await query(
    'remember',
    `UPDATE directory.user_account SET declared_passkeys = '["laptop", "gone"]', declared_identities = $2, owner = 'file', valid_from = 0
      WHERE user_id = $1`,
    userId,
    JSON.stringify([JSON.stringify(['corp', 'https://corp.example', userId])]),
  );
  const document = (fields: object) => ({
    document: JSON.stringify({
      tenants: [{ id: tenantId, users: [{ username: 'eve', email: 'eve@people.example', ...fields }] }],
    }),
    fileName: 'state.yaml',
  });
  return {
    ...of,
    apply: async (fields: object) => files.apply(document(fields), call()),
    diff: async (fields: object) => {
      const { tenants } = await files.diff({ ...document(fields), impact: true }, call());
      return tenants[0];
    },
    found: async () => {
      const { passkeys, providers, recoveryCodes } = await of.api.users.getCredentials(eve, call());
      const text = 'SELECT valid_from > 0 AS ended FROM directory.user_account WHERE user_id = $1';
      const [row] = await query<{ ended: boolean }>('ended', text, userId);
      return [passkeys.length, providers.length, recoveryCodes, row?.ended];
    },
  };
}

describe('a file that takes back what somebody signs in with', () => {
  it.each([
    [
      { passkeys: [] },
      [0, 1, 0, true],
      ['auth.factor.removed', { factor: 'passkey' }],
      'A passkey was removed from your account eve.',
    ],
    [
      { identities: [] },
      [1, 0, 1, true],
      ['auth.provider.unlinked', { provider: 'corp' }],
      'You can no longer sign in to your account eve with another organization that you had linked.',
    ],
  ] as const)(
    'with %j ends what was issued before, which impact names, writes the event and tells the person',
    async (fields, left, [event, details], sentence) => {
      const { apply, audited, diff, found, smtp, userId } = await world();
      expect(await found()).toEqual([1, 1, 1, false]);
      expect((await diff({}))?.impact).toMatchObject({ people: 0 });
      expect(await diff(fields)).toMatchObject({
        impact: { people: 1, usernames: ['eve'], ends: { userIds: [userId] } },
        withoutWayIn: [],
      });
      await apply(fields);
      expect(await found()).toEqual(left);
      expect(await audited(event)).toMatchObject([{ subject: userId, record: { details } }]);
      const [letter] = await smtp.gotAll(1);
      expect(letter?.text).toContain(sentence);
    },
  );

  it('ends nothing if the person has removed it before', async () => {
    const { apply, audited, found, query, userId } = await world();
    await query('removed', 'DELETE FROM directory.passkey WHERE user_id = $1', userId);
    await apply({ passkeys: [] });
    expect(await found()).toEqual([0, 1, 0, false]);
    expect(await audited('auth.factor.removed')).toEqual([]);
  });
});
