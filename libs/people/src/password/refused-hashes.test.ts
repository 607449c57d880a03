import { beforeAll, expect, it } from 'vitest';
import { testDatabase } from '@tessera/test-kit';
import type { Database } from '@tessera/stores';
import { migrations } from '@tessera/directory';
import { findRefusedHashes } from './refused-hashes.ts';

const tag = '$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4';
let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

async function people(tenantId: string, number: number, hash: string | undefined): Promise<void> {
  await database.query({
    name: 'test.people',
    text: `WITH tenant AS (INSERT INTO directory.tenant (tenant_id, name, status) VALUES ($1, $1, 'active'))
           INSERT INTO directory.user_account
             (tenant_id, user_id, username, email, name, phone_number, status, password_hash)
           SELECT $1, 'usr_' || lpad(n::text, 5, '0'), 'u' || n, '', '', '', 'active', $3 FROM generate_series(1, $2::int) AS n`,
    values: [tenantId, number, hash],
  });
}

it('of password hashes, those above the bounds are counted, of all tenants and pages, and some are named', async () => {
  await people('acme', 20, `$argon2id$v=19$m=19456,t=2,p=1${tag}`);
  await people('globex', 20, undefined);
  await people('initech', 1_500, `$argon2id$v=19$m=65536,t=4,p=4${tag}`);
  expect(await findRefusedHashes(database)).toEqual({ count: 0, people: [] });
  await people('hooli', 1, `$scrypt$ln=18,r=8,p=1${tag}`);
  await people('pied-piper', 1_200, `$argon2id$v=19$m=262144,t=16,p=4${tag}`);
  const { count, people: named } = await findRefusedHashes(database);
  expect(count).toBe(1_201);
  expect(named).toHaveLength(10);
  expect(named.slice(0, 2)).toEqual([
    { tenantId: 'hooli', userId: 'usr_00001' },
    { tenantId: 'pied-piper', userId: 'usr_00001' },
  ]);
});
