import { migrations } from '@tessera/directory';
import { testDatabase } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { hasCredential } from './remove-credential.postgres.ts';

it('is looked for in one tenant alone, also where somebody elsewhere has the same identifier', async () => {
  const database = await testDatabase(migrations);
  // Two tenants may have moved from one realm, where people keep their identifiers.
  const userId = 'usr_moved';
  await database.query({
    name: 'test.passkey',
    text: `INSERT INTO directory.passkey (tenant_id, credential_id, user_id, user_handle, rp_id, public_key, sign_count,
             transports, synced, backed_up, name)
           VALUES ('initech', 'key', $1, 'handle', 'id.example', '', 0, '{}', false, false, 'Key')`,
    values: [userId],
  });
  await database.query({
    name: 'test.totp',
    text: `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ('initech', $1, '', 0)`,
    values: [userId],
  });
  for (const [kind, id] of [
    ['passkey', 'key'],
    ['totp', ''],
  ] as const)
    await database.transaction(async (tx) => {
      const credential = { kind, id };
      expect(await hasCredential(tx, { tenantId: 'initech', userId }, credential), kind).toBe(true);
      expect(await hasCredential(tx, { tenantId: 'acme', userId }, credential), kind).toBe(false);
    });
});
