import type { Database } from '@tessera/stores';
import { systemClock, systemRandom } from '@tessera/kit';
import { testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { createAdminStore } from './admin-store.postgres.ts';
import { migrations } from '../wiring.ts';
import { directoryStoreContract, type Stores } from './store.contract.ts';
import { createChangeStore } from '../feed/change-store.postgres.ts';
import { createDirectoryStore } from './store.postgres.ts';

function storesOn(database: Database): Stores {
  return {
    database,
    store: createDirectoryStore(database),
    changes: createChangeStore(database),
    admin: createAdminStore(database, { clock: systemClock, random: systemRandom }),
  };
}

directoryStoreContract('Postgres', async () => storesOn(await testDatabase(migrations)));

if (runsEverything)
  directoryStoreContract('embedded PGlite', async () => storesOn(await testEmbeddedDatabase(migrations)));
