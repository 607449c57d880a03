import { z } from 'zod';
import { parseTarget, type RpcCredentials } from '@tessera/rpc';
import { ConfigError } from './load-config.ts';
import { choice, domainName, port, secret, textIn } from './setting-types.ts';

/** How a process is called and how it calls others. Peers are `host:port`, or what else `parseTarget` reads. */
export const rpcConfig = z.object({
  TESSERA_RPC_HOST: z.string().prefault('127.0.0.1'),
  TESSERA_RPC_PORT: port(0),
  TESSERA_RPC_AUTH: choice(['mtls', 'token', 'none'], 'token'),
  TESSERA_RPC_TOKEN: secret(32).optional(),
  /** Paths of PEM files. */
  TESSERA_RPC_TLS_CERT: z.string().optional(),
  TESSERA_RPC_TLS_KEY: z.string().optional(),
  TESSERA_RPC_TLS_CA: z.string().optional(),
  /** The domain of the names that certificates have for processes; absent: any. */
  TESSERA_RPC_TRUST_DOMAIN: domainName().optional(),
  TESSERA_PEER_KEYS: textIn(parseTarget).optional(),
  TESSERA_PEER_DIRECTORY: textIn(parseTarget).optional(),
  TESSERA_PEER_AUTHORIZE: textIn(parseTarget).optional(),
  TESSERA_PEER_TOKEN: textIn(parseTarget).optional(),
  TESSERA_PEER_DEVICE: textIn(parseTarget).optional(),
});

export type RpcConfig = z.infer<typeof rpcConfig>;

/** How this process proves itself to others and has them prove themselves. */
export function rpcCredentials(config: RpcConfig): RpcCredentials {
  if (config.TESSERA_RPC_AUTH === 'none') return { kind: 'none' };
  if (config.TESSERA_RPC_AUTH === 'token') {
    const token = config.TESSERA_RPC_TOKEN;
    if (token === undefined) {
      throw new ConfigError(['TESSERA_RPC_TOKEN is required where TESSERA_RPC_AUTH is token (the default).']);
    }
    return { kind: 'token', token };
  }
  const { TESSERA_RPC_TLS_CERT: cert, TESSERA_RPC_TLS_KEY: key, TESSERA_RPC_TLS_CA: ca } = config;
  if (cert === undefined || key === undefined || ca === undefined) {
    throw new ConfigError([
      'TESSERA_RPC_TLS_CERT, TESSERA_RPC_TLS_KEY and TESSERA_RPC_TLS_CA are required where TESSERA_RPC_AUTH is mtls.',
    ]);
  }
  const trustDomain = config.TESSERA_RPC_TRUST_DOMAIN;
  return { kind: 'mtls', certificateFile: cert, privateKeyFile: key, caFile: ca, trustDomain };
}
