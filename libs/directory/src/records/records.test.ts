import { testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { recordsContract } from './records.contract.ts';

recordsContract('postgres', async () => testDatabase(migrations));

recordsContract('pglite', async () => testEmbeddedDatabase(migrations));
