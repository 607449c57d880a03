import { join } from 'node:path';
import { z } from 'zod';
import type { RpcCredentials } from '@tessera/rpc';
import { parseTarget } from '@tessera/rpc/caller';
import { ConfigError, loadConfig } from './load-config.ts';
import { choice, domainName, port, secret, textIn } from './setting-types.ts';

/** The services that others call. */
const peerNames = ['keys', 'directory', 'authorize', 'token', 'device'] as const;
export type PeerName = (typeof peerNames)[number];

/** How a process is called and how it calls others. Peers are `host:port`, or what else `parseTarget` reads. */
export const rpcConfig = z.object({
  TESSERA_RPC_HOST: z.string().prefault('127.0.0.1'),
  TESSERA_RPC_PORT: port(0),
  TESSERA_RPC_AUTH: choice(['mtls', 'token', 'none'], 'token'),
  TESSERA_RPC_TOKEN: secret(32).optional(),
  /** A folder with the PEM files `tls.crt`, `tls.key` and `ca.crt`, named as in a Secret of cert-manager. */
  TESSERA_RPC_TLS_DIR: z.string().optional(),
  /** The domain of the names that certificates have for processes; absent: any. */
  TESSERA_RPC_TRUST_DOMAIN: domainName().optional(),
  /** `keys=host:port directory=host:port ...`: those that the process calls; it may name others too. */
  TESSERA_PEERS: textIn(parsePeers).optional(),
});

export type RpcConfig = z.infer<typeof rpcConfig>;

/** Where a service is; undefined if the settings do not say it. */
export function peerTarget(config: RpcConfig, name: PeerName): string | undefined {
  return parsePeers(config.TESSERA_PEERS ?? '')[name];
}

/**
 * Whether an environment says where a service is. What cannot be read says it: who calls the service hears what is
 * wrong.
 */
export function isPeerGiven(
  environment: Readonly<Record<string, string | undefined>>,
  name: PeerName,
): boolean {
  const { TESSERA_PEERS, TESSERA_PEERS_FILE } = environment;
  try {
    const config = loadConfig(rpcConfig.pick({ TESSERA_PEERS: true }), { TESSERA_PEERS, TESSERA_PEERS_FILE });
    return parsePeers(config.TESSERA_PEERS ?? '')[name] !== undefined;
  } catch (error) {
    if (error instanceof ConfigError) return true;
    throw error;
  }
}

function parsePeers(text: string): Partial<Record<PeerName, string>> {
  const peers: Partial<Record<PeerName, string>> = {};
  for (const entry of text.split(/\s+/).filter((part) => part !== '')) {
    const [, word = '', target = ''] = /^(\w+)=(.+)$/.exec(entry) ?? [];
    const name = peerNames.find((each) => each === word);
    if (name === undefined || peers[name] !== undefined)
      throw new TypeError(`expected entries such as keys=host:port, each of ${peerNames.join(', ')} once`);
    parseTarget(target);
    peers[name] = target;
  }
  return peers;
}

/**
 * The PEM files by which this process proves itself to others and has them prove themselves; undefined if they are not
 * set.
 */
export function rpcCertificate(
  config: Partial<RpcConfig>,
): { readonly cert: string; readonly key: string; readonly ca: string } | undefined {
  const { TESSERA_RPC_TLS_DIR: folder } = config;
  if (folder === undefined) return undefined;
  return { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key'), ca: join(folder, 'ca.crt') };
}

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
  const files = rpcCertificate(config);
  if (files === undefined) {
    throw new ConfigError([
      'TESSERA_RPC_TLS_DIR is required where TESSERA_RPC_AUTH is mtls: a folder with tls.crt, tls.key and ca.crt.',
    ]);
  }
  const { cert, key, ca } = files;
  const trustDomain = config.TESSERA_RPC_TRUST_DOMAIN;
  return { kind: 'mtls', certificateFile: cert, privateKeyFile: key, caFile: ca, trustDomain };
}
