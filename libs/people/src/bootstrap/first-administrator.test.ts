import { testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { migrations } from '@tessera/directory';
import { firstAdministratorContract } from './first-administrator.contract.ts';

firstAdministratorContract('Postgres', async () => testDatabase(migrations));

if (runsEverything)
  firstAdministratorContract('embedded PGlite', async () => testEmbeddedDatabase(migrations));
