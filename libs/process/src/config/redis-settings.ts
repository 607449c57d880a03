import { ConfigError } from './load-config.ts';
import type { ProcessConfig } from './process-settings.ts';
import type { Secret } from '@tessera/kit';
import type { RedisOptions } from '@tessera/stores';
import { parseRedisUrl } from '@tessera/stores';

/**
 * The connection options of Redis from the settings.
 * @throws ConfigError when certificates are given for a URL without TLS, or a certificate without its key
 */
export function redisOptions(config: ProcessConfig, url: Secret): RedisOptions {
  const { TESSERA_REDIS_CA: ca, TESSERA_REDIS_CERT: cert, TESSERA_REDIS_KEY: key } = config;
  const problems: string[] = [];
  if ((cert === undefined) !== (key === undefined))
    problems.push('TESSERA_REDIS_CERT and TESSERA_REDIS_KEY belong together. Set both or neither.');
  if ((ca ?? cert) !== undefined && !parseRedisUrl(url.reveal()).tls)
    problems.push(
      'TESSERA_REDIS_CA and TESSERA_REDIS_CERT require TLS: use a rediss:// URL, or remove them.',
    );
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    url,
    tls: { ca, cert, key },
    sentinelPassword: config.TESSERA_REDIS_SENTINEL_PASSWORD,
    keyPrefix: config.TESSERA_REDIS_KEY_PREFIX,
    commandTimeoutMs: config.TESSERA_REDIS_COMMAND_TIMEOUT * 1000,
  };
}
