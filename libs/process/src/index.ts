/**
 * What turns services into a process: settings, stores, life cycle, signals and the management listener. It knows no protocol rule.
 */
export { requireSameTime } from './clock-skew.ts';
export { ConfigError, combine, isGiven, loadConfig } from './config.ts';
export { createKit } from './create-kit.ts';
export type { Kit } from './kit.ts';
export type { Lifecycle } from './lifecycle.ts';
export { processConfig, rpcConfig } from './process-config.ts';
export type { ProcessConfig, RpcConfig } from './process-config.ts';
export { redisOptions } from './redis-settings.ts';
export { runProcess } from './run-process.ts';
export { connectPeers, purgeAudit, rpcCredentials, runService } from './run-service.ts';
export type { PeerName } from './run-service.ts';
export {
  duration,
  flag,
  integer,
  list,
  optionalPort,
  optionalText,
  parseDuration,
  port,
  secret,
  text,
} from './setting-types.ts';
export { knownSettings } from './known-settings.ts';
export { issuerSetting, profileSetting } from './shared-settings.ts';
