/** Settings: what a program needs that reads them without being a process. It loads no store, no log and no metrics. */
export { ConfigError, combine, isGiven, knownSettings, loadConfig } from './load-config.ts';
export {
  databaseOptions,
  processConfig,
  redisOptions,
  statementTimeoutSetting,
  type ProcessConfig,
} from './settings-of-every-process.ts';
export {
  isPeerGiven,
  peerTarget,
  rpcConfig,
  rpcCredentials,
  type PeerName,
  type RpcConfig,
} from './rpc-settings.ts';
export {
  choice,
  choices,
  duration,
  durationText,
  flag,
  integer,
  list,
  optionalPort,
  parseDuration,
  port,
  secret,
  secretIn,
} from './setting-types.ts';
export {
  allowPrivateSetting,
  allowsPrivate,
  consoleSecretSetting,
  consoleUrlSetting,
  failuresPerAccountSetting,
  failuresPerAddressSetting,
  failuresWindowSetting,
  issuerSetting,
  messagesDirSetting,
  operatorTenantSetting,
  profileSetting,
  requestsPerAddressSetting,
} from './settings-of-several-services.ts';
