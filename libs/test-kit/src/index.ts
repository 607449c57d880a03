/**
 * What tests stand on: a database and a Redis prefix of their own on real servers, a clock that obeys, counted handles,
 * browsers, a directory in memory. Imported by tests only. It never fakes a store: a memory store is the service's own and passes the same
 * contract.
 *
 *     npm test ─> provision/ starts Postgres and Redis once ─> stores: a database and a key prefix per test
 *     test ─> runtime, clock, silent-log ─> the service under test <── fake-directory, receiver (clients over HTTPS)
 *     test ─> chromium, browser/ ──> pages; tcp-proxy ──> faults; certificates/ ──> mTLS
 */
export * from './clock.ts';
export * from './counting.ts';
export * from './eventually.ts';
export * from './fake-directory.ts';
export * from './runtime.ts';
export * from './receiver.ts';
export * from './silent-log.ts';
export * from './stores.ts';
export * from './traces.ts';
export * from './chromium.ts';
export * from './certificates/authority.ts';
export * from './browser/html.ts';
export { atEndOfFile } from './cleanup.ts';
export * from './tcp-proxy.ts';
