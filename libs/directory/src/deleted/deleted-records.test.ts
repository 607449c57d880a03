import { migrate, openEmbeddedDatabase, type Database } from '@tessera/stores';
import { silentLog, testDatabase } from '@tessera/test-kit';
import { afterAll } from 'vitest';
import { migrations } from '../wiring.ts';
import { deletedRecordsContract } from './deleted-records.contract.ts';

const embedded: Database[] = [];
afterAll(() => Promise.all(embedded.map((database) => database.close())));

deletedRecordsContract('Postgres', async () => testDatabase(migrations));

deletedRecordsContract('embedded PGlite', async () => {
  const database = await openEmbeddedDatabase('memory');
  embedded.push(database);
  await migrate(database, migrations, silentLog());
  return database;
});
