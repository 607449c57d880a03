import { systemClock, systemRandom } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { runsEverything, testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { beforeAll } from 'vitest';
import { migrations } from './wiring.ts';
import { keyStoreContract, retention } from './store.contract.ts';
import { postgresKeyStore, postgresTenantKeyStores } from './store.postgres.ts';

const runtime = { clock: systemClock, random: systemRandom };
let postgres: Database;
let embedded: Database;

beforeAll(async () => {
  postgres = await testDatabase(migrations);
  if (runsEverything) embedded = await testEmbeddedDatabase(migrations);
});

async function sharedStoreOn(database: Database) {
  return { store: postgresKeyStore({ database, runtime, retention }), database };
}

async function tenantStoreOn(database: Database) {
  return { store: postgresTenantKeyStores({ database, runtime, retention })('acme'), database };
}

keyStoreContract('Postgres', () => sharedStoreOn(postgres));
if (runsEverything) keyStoreContract('embedded PGlite', () => sharedStoreOn(embedded));
keyStoreContract('Postgres, for a tenant', () => tenantStoreOn(postgres), 'tenant_signing_key');
if (runsEverything)
  keyStoreContract('embedded PGlite, for a tenant', () => tenantStoreOn(embedded), 'tenant_signing_key');
keyStoreContract('Postgres, for ES256', () => sharedStoreOn(postgres), 'algorithm_signing_key');
keyStoreContract('Postgres, for ES256 of a tenant', () => tenantStoreOn(postgres), 'algorithm_signing_key');
if (runsEverything)
  keyStoreContract('embedded PGlite, for ES256', () => sharedStoreOn(embedded), 'algorithm_signing_key');
