import { testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { deletedRecordsContract } from './deleted-records.contract.ts';

deletedRecordsContract('Postgres', async () => testDatabase(migrations));

if (runsEverything) deletedRecordsContract('embedded PGlite', async () => testEmbeddedDatabase(migrations));
