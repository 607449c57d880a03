import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Secret } from '@tessera/kit';
import type { PostgresOptions, RedisOptions } from '@tessera/stores';
import { parsePostgresUrl, parseRedisUrl, requireFiles } from '@tessera/stores/store-urls';
import { ConfigError } from './load-config.ts';
import { choice, duration, integer, optionalPort, secret, secretIn } from './setting-types.ts';
import { tracingConfig } from './tracing-settings.ts';

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** How long a statement may take; what waits for statements waits for a multiple of it. */
export const statementTimeoutSetting = duration('1s', { min: '10ms', max: '60s' });

/** What every process reads. Durations are in seconds. */
export const processConfig = z.object({
  NODE_ENV: z.string().optional(),
  TESSERA_LOG_LEVEL: choice(logLevels, 'info'),
  /** Absent: embedded PGlite under the data directory. */
  DATABASE_URL: secretIn(parsePostgresUrl).optional(),
  /** Absent: short-lived state in the memory of the process. */
  REDIS_URL: secretIn(parseRedisUrl).optional(),
  /** A folder with the PEM files `ca.crt`, and `tls.crt` and `tls.key` for a client certificate. */
  TESSERA_REDIS_TLS_DIR: z.string().optional(),
  TESSERA_REDIS_SENTINEL_PASSWORD: secret().optional(),
  TESSERA_DATA_DIR: z.string().prefault('./.tessera'),
  TESSERA_DATABASE_POOL_SIZE: integer(10, { min: 1, max: 500 }),
  /** Of a statement, and of the wait for a connection; a command of Redis has a quarter of it. */
  TESSERA_DATABASE_STATEMENT_TIMEOUT: statementTimeoutSetting,
  /** `wait`: another process applies the migrations, with credentials of its own. */
  TESSERA_MIGRATIONS: choice(['apply', 'wait'], 'apply'),
  TESSERA_REDIS_KEY_PREFIX: z.string().prefault('tessera:'),
  TESSERA_MANAGEMENT_HOST: z.string().prefault('127.0.0.1'),
  /** Absent: no management listener. */
  TESSERA_MANAGEMENT_PORT: optionalPort(),
  /** How long to keep serving after readiness was withdrawn, so that load balancers notice. */
  TESSERA_DRAIN_PAUSE: duration('0s', { max: '5m' }),
  /** How long requests in flight may take once nothing new is accepted. */
  TESSERA_DRAIN_TIMEOUT: duration('10s', { max: '10m' }),
  /** How long audit rows are kept; `0s` for good. */
  TESSERA_AUDIT_RETENTION: duration('400d'),
  /** For crash tests only. */
  TESSERA_FAILPOINT: z.string().optional(),
  ...tracingConfig.shape,
});

export type ProcessConfig = z.infer<typeof processConfig>;

/**
 * The connection options of Postgres from the settings.
 * @throws ConfigError when a file that the URL names cannot be used
 */
export function databaseOptions(config: ProcessConfig, url: Secret): PostgresOptions {
  try {
    requireFiles(url.reveal());
  } catch (error) {
    throw new ConfigError([
      error instanceof Error ? error.message : 'DATABASE_URL names a file that cannot be used.',
    ]);
  }
  return {
    url,
    maxConnections: config.TESSERA_DATABASE_POOL_SIZE,
    acquireTimeoutMs: config.TESSERA_DATABASE_STATEMENT_TIMEOUT * 1000,
    statementTimeoutMs: config.TESSERA_DATABASE_STATEMENT_TIMEOUT * 1000,
  };
}

/**
 * The connection options of Redis from the settings.
 * @throws ConfigError when certificates are given for a URL without TLS, or a certificate without its key
 */
export function redisOptions(config: ProcessConfig, url: Secret): RedisOptions {
  const { ca, cert, key } = redisCertificates(config);
  const problems: string[] = [];
  if ((cert === undefined) !== (key === undefined))
    problems.push(
      'The client certificate of Redis and its key (tls.crt and tls.key) belong together. Give both or neither.',
    );
  if ((ca ?? cert) !== undefined && !parseRedisUrl(url.reveal()).tls)
    problems.push('Certificates of Redis require TLS: use a rediss:// URL, or remove TESSERA_REDIS_TLS_DIR.');
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    url,
    tls: { ca, cert, key },
    sentinelPassword: config.TESSERA_REDIS_SENTINEL_PASSWORD,
    keyPrefix: config.TESSERA_REDIS_KEY_PREFIX,
    commandTimeoutMs: (config.TESSERA_DATABASE_STATEMENT_TIMEOUT * 1000) / 4,
  };
}

interface RedisCertificates {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: Secret | undefined;
}

/** Throws ConfigError for a folder without `ca.crt`, or with a file that cannot be read. */
function redisCertificates(config: ProcessConfig): RedisCertificates {
  const { TESSERA_REDIS_TLS_DIR: folder } = config;
  if (folder === undefined) return {};
  const ca = pemIn(folder, 'ca.crt');
  if (ca === undefined) throw new ConfigError(['TESSERA_REDIS_TLS_DIR names a folder without ca.crt.']);
  const key = pemIn(folder, 'tls.key');
  return { ca, cert: pemIn(folder, 'tls.crt'), key: key === undefined ? undefined : new Secret(key) };
}

/** The text of a PEM file; undefined if there is none of the name. */
function pemIn(folder: string, name: string): string | undefined {
  try {
    return readFileSync(join(folder, name), 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    if (code === 'ENOENT') return undefined;
    throw new ConfigError([
      `TESSERA_REDIS_TLS_DIR: ${name} cannot be read (${code}). Correct its permissions.`,
    ]);
  }
}
