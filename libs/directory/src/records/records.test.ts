import { migrate, openEmbeddedDatabase, type Database } from '@tessera/stores';
import { silentLog, testDatabase } from '@tessera/test-kit';
import { afterAll } from 'vitest';
import { migrations } from '../wiring.ts';
import { recordsContract } from './records.contract.ts';

const embedded: Database[] = [];
afterAll(() => Promise.all(embedded.map((database) => database.close())));

recordsContract('postgres', async () => testDatabase(migrations));

recordsContract('pglite', async () => {
  const database = await openEmbeddedDatabase('memory');
  embedded.push(database);
  await migrate(database, migrations, silentLog());
  return database;
});
