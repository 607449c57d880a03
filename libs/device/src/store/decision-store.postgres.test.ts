import { openEmbeddedDatabase, migrate } from '@tessera/stores';
import type { Database } from '@tessera/stores';
import { atEndOfFile, silentLog, testDatabase } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { deliveryStoreContract } from '../delivery/delivery-store.contract.ts';
import { previousVersionContract } from '../delivery/previous-version.contract.ts';
import { decisionStoreContract } from './decision-store.contract.ts';

let postgres: Promise<Database> | undefined;
decisionStoreContract('Postgres', () => (postgres ??= testDatabase(migrations)));

let embedded: Promise<Database> | undefined;
decisionStoreContract('PGlite', () => (embedded ??= openEmbedded()));

deliveryStoreContract('Postgres', () => (postgres ??= testDatabase(migrations)));
deliveryStoreContract('PGlite', () => (embedded ??= openEmbedded()));

previousVersionContract('Postgres', () => (postgres ??= testDatabase(migrations)));
previousVersionContract('PGlite', () => (embedded ??= openEmbedded()));

async function openEmbedded(): Promise<Database> {
  const database = await openEmbeddedDatabase('memory');
  atEndOfFile(() => database.close());
  await migrate(database, migrations, silentLog());
  return database;
}
