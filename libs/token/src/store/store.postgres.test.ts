import { migrate, openEmbeddedDatabase, type Database } from '@tessera/stores';
import { atEndOfFile, silentLog, testDatabase } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { storeContract } from './store.contract.ts';

let postgres: Promise<Database> | undefined;
storeContract('Postgres', () => (postgres ??= testDatabase(migrations)), 150);

let embedded: Promise<Database> | undefined;
storeContract('PGlite', () => (embedded ??= openEmbedded()), 40);

async function openEmbedded(): Promise<Database> {
  const database = await openEmbeddedDatabase('memory');
  atEndOfFile(() => database.close());
  await migrate(database, migrations, silentLog());
  return database;
}
