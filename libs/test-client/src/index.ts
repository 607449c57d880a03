/**
 * What the tools drive a running system with, from outside: over HTTP, as its clients and their people do. It knows no
 * service, and nothing of a test runner: what goes wrong is thrown.
 *
 *     e2e, chaos, bench ─> services, process ──> the processes under test
 *     a client ─> http ─> tokens (both dialects) ──> the gateway
 *     a person ─> person (cookies, forms), approvals ──> the pages; proxy ──> faults; leaks <── all output
 */
export * from './application-object.ts';
export * from './approvals.ts';
export * from './http.ts';
export * from './leaks.ts';
export * from './operator.ts';
export * from './person.ts';
export * from './planned-system.ts';
export * from './process.ts';
export * from './proxy.ts';
export * from './services.ts';
export * from './text-table.ts';
export * from './tokens.ts';
