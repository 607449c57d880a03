import { testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { recordsContract } from './records.contract.ts';

recordsContract('postgres', async () => testDatabase(migrations));

if (runsEverything) recordsContract('pglite', async () => testEmbeddedDatabase(migrations));
