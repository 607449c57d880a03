import { testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { firstAdministratorContract } from './first-administrator.contract.ts';

firstAdministratorContract('Postgres', async () => testDatabase(migrations));

firstAdministratorContract('embedded PGlite', async () => testEmbeddedDatabase(migrations));
