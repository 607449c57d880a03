import type { Database } from '@tessera/stores';
import { runsEverything, testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { checkedSessionContract } from './checked-sessions.contract.ts';
import { knownBrowserContract } from './known-browsers.contract.ts';
import { liveSessionsContract } from './live-sessions.contract.ts';
import { logoutNoticeContract } from './logout-notices.contract.ts';
import { sessionEndContract } from './session-ends.contract.ts';
import { sessionStoreContract } from './session-store.contract.ts';

let postgres: Promise<Database> | undefined;
sessionStoreContract('Postgres', () => (postgres ??= testDatabase(migrations)));
liveSessionsContract('Postgres', () => (postgres ??= testDatabase(migrations)));
checkedSessionContract('Postgres', () => (postgres ??= testDatabase(migrations)));
sessionEndContract('Postgres', () => testDatabase(migrations));
knownBrowserContract('Postgres', () => (postgres ??= testDatabase(migrations)));
logoutNoticeContract('Postgres', () => (postgres ??= testDatabase(migrations)));

let embedded: Promise<Database> | undefined;
if (runsEverything) {
  sessionStoreContract('PGlite', () => (embedded ??= testEmbeddedDatabase(migrations)));
  liveSessionsContract('PGlite', () => (embedded ??= testEmbeddedDatabase(migrations)));
  checkedSessionContract('PGlite', () => (embedded ??= testEmbeddedDatabase(migrations)));
  sessionEndContract('PGlite', () => (embedded ??= testEmbeddedDatabase(migrations)));
  knownBrowserContract('PGlite', () => (embedded ??= testEmbeddedDatabase(migrations)));
  logoutNoticeContract('PGlite', () => (embedded ??= testEmbeddedDatabase(migrations)));
}
