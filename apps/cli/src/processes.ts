import type { z } from 'zod';
import { adminConfig } from '@tessera/admin';
import { authorizeConfig, migrations as authorizeMigrations } from '@tessera/authorize';
import { deviceConfig, migrations as deviceMigrations } from '@tessera/device';
import { applyConfig, directorySecret, migrations as directoryMigrations } from '@tessera/directory';
import { directoryProcessConfig } from '@tessera/people';
import { gatewayConfig } from '@tessera/gateway';
import { keysConfig, keysSecret, migrations as keysMigrations } from '@tessera/keys';
import {
  combine,
  ConfigError,
  databaseOptions,
  isGiven,
  peerTarget,
  processConfig,
  redisOptions,
  rpcConfig,
  rpcCredentials,
  type PeerName,
  type ProcessConfig,
  type RpcConfig,
} from '@tessera/process/settings';
import type { Migrations } from '@tessera/stores';
import {
  introspectionListenerConfig,
  migrations as tokenMigrations,
  tokenConfig,
  tokenSecret,
} from '@tessera/token';
import { settings, type Environment } from './settings.ts';

/** The schemas of all services, in calling order. */
export const schemas: readonly Migrations[] = [
  keysMigrations,
  directoryMigrations,
  authorizeMigrations,
  deviceMigrations,
  tokenMigrations,
];

/** The settings of a process, and what else it requires. */
export interface ProcessSettings {
  readonly config: z.ZodObject;
  readonly stores: readonly ('DATABASE_URL' | 'REDIS_URL')[];
  readonly peers: readonly PeerName[];
  /** The schemas that it reads and writes. */
  readonly schemas: readonly Migrations[];
  /** The services whose keys it has in Redis. */
  readonly keys: readonly string[];
}

const split = combine(processConfig, rpcConfig);

/** Each process, as its `main.ts` puts it together. */
export const processes: Readonly<Record<string, ProcessSettings>> = {
  standalone: {
    config: combine(
      split,
      adminConfig,
      gatewayConfig,
      authorizeConfig,
      tokenConfig,
      introspectionListenerConfig,
      deviceConfig,
      keysConfig,
      directoryProcessConfig,
      applyConfig,
    ),
    stores: [],
    peers: [],
    schemas,
    keys: ['gateway', 'authorize', 'token', 'device'],
  },
  gateway: {
    config: combine(split, gatewayConfig),
    stores: ['REDIS_URL'],
    peers: ['keys', 'directory', 'authorize', 'token', 'device'],
    schemas: [],
    keys: ['gateway'],
  },
  authorize: {
    config: combine(split, authorizeConfig),
    stores: ['DATABASE_URL', 'REDIS_URL'],
    peers: ['directory'],
    schemas: [authorizeMigrations],
    keys: ['authorize'],
  },
  token: {
    config: combine(split, tokenConfig, introspectionListenerConfig),
    stores: ['DATABASE_URL', 'REDIS_URL'],
    peers: ['keys', 'directory', 'authorize', 'device'],
    schemas: [tokenMigrations],
    keys: ['token'],
  },
  device: {
    config: combine(split, deviceConfig),
    stores: ['DATABASE_URL', 'REDIS_URL'],
    peers: ['directory'],
    schemas: [deviceMigrations],
    keys: ['device'],
  },
  keys: {
    config: combine(split, keysConfig),
    stores: ['DATABASE_URL'],
    peers: [],
    schemas: [keysMigrations],
    keys: [],
  },
  directory: {
    config: combine(split, directoryProcessConfig, applyConfig),
    stores: ['DATABASE_URL'],
    peers: [],
    schemas: [directoryMigrations],
    keys: [],
  },
  admin: {
    config: combine(split, adminConfig),
    stores: [],
    peers: ['keys', 'directory', 'authorize', 'token', 'device'],
    schemas: [],
    keys: [],
  },
};

const developmentSecrets = [keysSecret, directorySecret, tokenSecret];

/** The secrets that a process with embedded stores generates at its start. */
export function secretsToBeMade(name: string, environment: Environment): readonly string[] {
  if (name !== 'standalone' || isGiven(environment, 'DATABASE_URL')) return [];
  return developmentSecrets.map(({ key }) => key).filter((key) => !isGiven(environment, key));
}

/** The environment once those secrets are generated. */
function withSecrets(name: string, environment: Environment): Environment {
  const toBeMade = secretsToBeMade(name, environment);
  const any = Buffer.alloc(32).toString('base64url');
  const made = developmentSecrets
    .filter(({ key }) => toBeMade.includes(key))
    .map(({ key, setting }) => [key, setting(any)] as const);
  return { ...environment, ...Object.fromEntries(made) };
}

/** Every reason why a process cannot start with this environment, one sentence each. */
export function configurationProblems(name: string, environment: Environment): readonly string[] {
  const process = processes[name];
  if (process === undefined)
    return [`${name} is no process of Tessera: ${Object.keys(processes).join(', ')}.`];
  try {
    const config = settings(process.config, withSecrets(name, environment));
    const problems = process.stores
      .filter((key) => config[key] === undefined)
      .map((key) => `${key} is required.`);
    const unknown = process.peers.filter((peer) => peerTarget(config as RpcConfig, peer) === undefined);
    if (unknown.length > 0)
      problems.push(`TESSERA_PEERS does not say where these are: ${unknown.join(', ')}.`);
    // In the split topology, callers and services authenticate each other.
    if (name !== 'standalone') rpcCredentials(config as RpcConfig);
    const { DATABASE_URL: database, REDIS_URL: redis } = config as ProcessConfig;
    if (database !== undefined) databaseOptions(config as ProcessConfig, database);
    if (redis !== undefined) redisOptions(config as ProcessConfig, redis);
    return problems;
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
