import { migrations } from '@tessera/directory';
import { systemClock, systemRandom } from '@tessera/kit';
import { testDatabase } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { setRecoveryCodes, useRecoveryCode } from './recovery-codes.postgres.ts';

it('uses up and replaces the codes of one tenant, also where somebody elsewhere has the same identifier', async () => {
  const database = await testDatabase(migrations);
  const runtime = { clock: systemClock, random: systemRandom };
  // Two tenants may have moved from one realm, where people keep their identifiers.
  const [ours, theirs] = ['acme', 'initech'].map((tenantId) => ({ tenantId, userId: 'usr_moved' })) as [
    { tenantId: string; userId: string },
    { tenantId: string; userId: string },
  ];
  const code = Buffer.alloc(32, 1);
  const use = async (person: typeof ours, digest: Buffer) =>
    useRecoveryCode(database, runtime, person, { ipAddress: '203.0.113.9', requestId: 'r', digest });
  const replace = async (person: typeof ours, digests: Buffer[]) =>
    database.transaction(async (tx) => setRecoveryCodes(tx, person, digests));

  expect(await replace(theirs, [code])).toBe(false);
  expect(await use(ours, code)).toBe(false);
  expect(await replace(ours, [code])).toBe(false);
  expect(await replace(ours, [])).toBe(true);
  expect(await use(ours, code)).toBe(false);
  expect(await use(theirs, code)).toBe(true);
  expect(await use(theirs, code)).toBe(false);
});
