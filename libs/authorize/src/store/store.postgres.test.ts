import { openEmbeddedDatabase, migrate } from '@tessera/stores';
import type { Database } from '@tessera/stores';
import { atEndOfFile, silentLog, testDatabase } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { knownBrowserContract } from './known-browsers.contract.ts';
import { logoutNoticeContract } from './logout-notices.contract.ts';
import { sessionEndContract } from './session-ends.contract.ts';
import { sessionStoreContract } from './session-store.contract.ts';

let postgres: Promise<Database> | undefined;
sessionStoreContract('Postgres', () => (postgres ??= testDatabase(migrations)));
sessionEndContract('Postgres', () => testDatabase(migrations));
knownBrowserContract('Postgres', () => (postgres ??= testDatabase(migrations)));
logoutNoticeContract('Postgres', () => (postgres ??= testDatabase(migrations)));

let embedded: Promise<Database> | undefined;
sessionStoreContract('PGlite', () => (embedded ??= openEmbedded()));
sessionEndContract('PGlite', () => (embedded ??= openEmbedded()));
knownBrowserContract('PGlite', () => (embedded ??= openEmbedded()));
logoutNoticeContract('PGlite', () => (embedded ??= openEmbedded()));

async function openEmbedded(): Promise<Database> {
  const database = await openEmbeddedDatabase('memory');
  atEndOfFile(() => database.close());
  await migrate(database, migrations, silentLog());
  return database;
}
