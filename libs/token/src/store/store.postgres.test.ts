import type { Database } from '@tessera/stores';
import { runsEverything, testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { storeContract } from './store.contract.ts';

let postgres: Promise<Database> | undefined;
storeContract('Postgres', () => (postgres ??= testDatabase(migrations)), 150);

let embedded: Promise<Database> | undefined;
if (runsEverything) storeContract('PGlite', () => (embedded ??= testEmbeddedDatabase(migrations)), 40);
