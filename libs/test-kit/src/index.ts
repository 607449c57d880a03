/**
 * What tests stand on: a database and a Redis prefix of their own on real servers, a clock that obeys, counted handles,
 * browsers. Imported by tests only. It never fakes a store: a memory store is the service's own and passes the same
 * contract.
 *
 *     npm test ─> provision/ starts Postgres and Redis once ─> stores: a database and a key prefix per test
 *     test ─> fakes/: runtime, clock, silent-log ─> the service under test <── network/: receiver, tcp-proxy
 *     test ─> browser/ ──> pages; certificates/ ──> mTLS
 */
export * from './fakes/fake-clock.ts';
export * from './fakes/counting.ts';
export * from './eventually.ts';
export * from './fakes/test-runtime.ts';
export * from './network/receiver.ts';
export * from './fakes/silent-log.ts';
export * from './stores.ts';
export * from './fakes/traces.ts';
export * from './fakes/software-authenticator.ts';
export * from './browser/chromium.ts';
export * from './certificates/authority.ts';
export * from './browser/html.ts';
export { atEndOfFile } from './cleanup.ts';
export { waitFor } from './wait-for.ts';
export * from './network/smtp-receiver.ts';
export * from './network/tcp-proxy.ts';
