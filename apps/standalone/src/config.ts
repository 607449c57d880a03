import { adminConfig } from '@tessera/admin';
import { authorizeConfig } from '@tessera/authorize';
import { consoleConfig } from '@tessera/console';
import { deviceConfig } from '@tessera/device';
import { applyConfig, directorySecret } from '@tessera/directory';
import { directoryProcessConfig } from '@tessera/people';
import { gatewayConfig } from '@tessera/gateway';
import { keysConfig, keysSecret } from '@tessera/keys';
import { opaqueValue, systemRandom } from '@tessera/kit';
import {
  combine,
  ConfigError,
  isGiven,
  loadConfig,
  processConfig,
  rpcConfig,
  rpcCredentials,
  type RpcConfig,
} from '@tessera/process';
import type { RpcServerCredentials } from '@tessera/rpc';
import { introspectionListenerConfig, tokenConfig, tokenSecret } from '@tessera/token';
import { developmentSecret } from './development-secret.ts';

/** All settings of the compact process. */
export const standaloneConfig = combine(
  processConfig,
  gatewayConfig,
  authorizeConfig,
  tokenConfig,
  introspectionListenerConfig,
  rpcConfig,
  deviceConfig,
  keysConfig,
  directoryProcessConfig,
  applyConfig,
  adminConfig,
  consoleConfig,
);

const developmentSecrets = [keysSecret, directorySecret, tokenSecret];

const dataDirectory = processConfig.pick({ TESSERA_DATA_DIR: true });

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment, completed with missing secrets. With embedded stores they are kept beside the database; with a
 * database of its own, a deployment must set them, because the stored data is useless once a secret is lost.
 * @throws ConfigError that names the missing settings
 */
export async function withSecrets(environment: Environment): Promise<Environment> {
  const missing = developmentSecrets.filter(({ key }) => !isGiven(environment, key));
  if (missing.length > 0 && isGiven(environment, 'DATABASE_URL')) {
    const names = missing.map(({ key }) => key).join(', ');
    throw new ConfigError([`Required with DATABASE_URL: ${names}. The README says how to make them.`]);
  }
  const { TESSERA_DATA_DIR: directory } = loadConfig(dataDirectory, environment);
  const made: Record<string, string> = {};
  for (const { key, name, setting } of missing) {
    const secret = await developmentSecret(directory, name);
    made[key] = setting(secret.reveal());
  }
  return { ...environment, ...made };
}

/**
 * The environment with what administration needs and one process can give itself: a secret of the console, both sides
 * of which it has; for the demo also an operator tenant, and the console.
 */
export function withAdministration(environment: Environment): Environment {
  if (isGiven(environment, 'DATABASE_URL')) return environment;
  const isDemo = !isGiven(environment, 'TESSERA_APPLY_FILE');
  const made = {
    TESSERA_CONSOLE_SECRET: opaqueValue('', systemRandom),
    ...(isDemo && { TESSERA_OPERATOR_TENANT: 'operators', TESSERA_CONSOLE_URL: 'http://127.0.0.1' }),
  };
  const missing = Object.entries(made).filter(([key]) => !isGiven(environment, key));
  return { ...environment, ...Object.fromEntries(missing) };
}

/** What introspectors prove themselves by: access tokens alone, unless the shared token or certificates are set. */
export function introspectionCredentials(config: RpcConfig): RpcServerCredentials {
  const { TESSERA_RPC_AUTH: auth, TESSERA_RPC_TOKEN: token } = config;
  return auth === 'token' && token === undefined ? { kind: 'bearer' } : rpcCredentials(config);
}
