import type { Database } from '@tessera/stores';
import { runsEverything, testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { deliveryStoreContract } from './delivery-store.contract.ts';
import { decisionStoreContract } from './decision-store.contract.ts';

let postgres: Promise<Database> | undefined;
decisionStoreContract('Postgres', () => (postgres ??= testDatabase(migrations)));

let embedded: Promise<Database> | undefined;
if (runsEverything) decisionStoreContract('PGlite', () => (embedded ??= testEmbeddedDatabase(migrations)));

deliveryStoreContract('Postgres', () => (postgres ??= testDatabase(migrations)));
if (runsEverything) deliveryStoreContract('PGlite', () => (embedded ??= testEmbeddedDatabase(migrations)));
