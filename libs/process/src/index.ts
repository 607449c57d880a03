/**
 * What turns services into a process: settings, stores, life cycle, signals and the management listener. It knows no
 * protocol rule.
 *
 *     main ─> run-service ─┬─> run-process ─> config/ (settings), lifecycle (signals), management/ (/livez, /readyz, /metrics)
 *                          ├─> create-runtime   stores, clock, log
 *                          ├─> schemas          migrations
 *                          └─> peers, serve     gRPC to and from the other processes (rpc)
 *     clock/ clock-watch ─> refuse-while-clock-is-wrong ─> the handlers of a service
 */
export { requireSameTime } from './clock/clock-watch.ts';
export { removedSettings } from './config/removed-settings.ts';
export { createRuntime } from './create-runtime.ts';
export type { Runtime } from './runtime.ts';
export type { Lifecycle } from './lifecycle.ts';
export { maintainSchemas } from './schemas.ts';
export * from './config/offered-settings.ts';
export { refuseWhileClockIsWrong } from './clock/refuse-while-clock-is-wrong.ts';
export { runProcess } from './run-process.ts';
export { connectPeers, runService } from './run-service.ts';
