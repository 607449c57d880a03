import type { Database } from '@tessera/stores';
import { testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { storeContract } from './store.contract.ts';

let postgres: Promise<Database> | undefined;
storeContract('Postgres', () => (postgres ??= testDatabase(migrations)), 150);

let embedded: Promise<Database> | undefined;
storeContract('PGlite', () => (embedded ??= testEmbeddedDatabase(migrations)), 40);
