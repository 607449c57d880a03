import { migrate, openEmbeddedDatabase } from '@tessera/stores';
import { systemClock, systemRandom } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { testDatabase, testRuntime } from '@tessera/test-kit';
import { afterAll, beforeAll } from 'vitest';
import { migrations } from './wiring.ts';
import { keyStoreContract } from './store.contract.ts';
import { postgresKeyStore } from './store.postgres.ts';

const runtime = { clock: systemClock, random: systemRandom };
let postgres: Database;
let embedded: Database;

beforeAll(async () => {
  postgres = await testDatabase(migrations);
  embedded = await openEmbeddedDatabase('memory');
  await migrate(embedded, migrations, testRuntime().log);
});

afterAll(() => embedded.close());

async function storeOn(database: Database, tenantId = '') {
  return { store: postgresKeyStore(database, runtime, tenantId), database };
}

keyStoreContract('Postgres', () => storeOn(postgres));
keyStoreContract('embedded PGlite', () => storeOn(embedded));
keyStoreContract('Postgres, for a tenant', () => storeOn(postgres, 'acme'), 'tenant_signing_key');
keyStoreContract('embedded PGlite, for a tenant', () => storeOn(embedded, 'acme'), 'tenant_signing_key');
