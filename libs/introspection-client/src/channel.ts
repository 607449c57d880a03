import { credentials as channelCredentials, Client, experimental, Metadata } from '@grpc/grpc-js';
import type { ChannelCredentials, ChannelOptions } from '@grpc/grpc-js';
import { IntrospectionError } from './errors.ts';
import type { Credentials } from './types.ts';

const reloadMs = 5_000;
const largestMessage = 4 * 1024 * 1024;

/** All replicas of the server behind one client: calls go round them, and it connects again by itself. */
export function openClient(target: string, credentials: Credentials): Client {
  const options: ChannelOptions = {
    'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
    // Names are given by the deployment; a TXT record must not bring another configuration.
    'grpc.service_config_disable_resolution': 1,
    'grpc.keepalive_time_ms': 20_000,
    'grpc.keepalive_timeout_ms': 5_000,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2_000,
    // The server lets connections go after a while, so that names are looked up again and new replicas are found.
    'grpc.dns_min_time_between_resolutions_ms': 2_000,
    'grpc.max_receive_message_length': largestMessage,
    'grpc.max_send_message_length': largestMessage,
    'grpc.use_local_subchannel_pool': 1,
    // Tried again by our own rules, which know what is left of the caller's time.
    'grpc.enable_retries': 0,
  };
  const serverName = credentials.tls?.serverName;
  if (serverName !== undefined) options['grpc.ssl_target_name_override'] = serverName;
  return new Client(withScheme(target), channelCredentialsOf(credentials), options);
}

function withScheme(target: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\/|^(dns|unix|ipv4|ipv6):/.test(target) ? target : `dns:///${target}`;
}

function channelCredentialsOf({ tls }: Credentials): ChannelCredentials {
  if (tls === undefined) return channelCredentials.createInsecure();
  const { caFile, certificateFile, privateKeyFile } = tls;
  if ((certificateFile === undefined) !== (privateKeyFile === undefined)) {
    throw new TypeError('certificateFile and privateKeyFile belong together');
  }
  if (caFile === undefined && certificateFile === undefined) return channelCredentials.createSsl();
  const files = new experimental.FileWatcherCertificateProvider({
    refreshIntervalMs: reloadMs,
    ...(caFile !== undefined && { caCertificateFile: caFile }),
    ...(certificateFile !== undefined && { certificateFile }),
    ...(privateKeyFile !== undefined && { privateKeyFile }),
  });
  const identity = certificateFile === undefined ? null : files;
  if (caFile !== undefined) {
    return experimental.createCertificateProviderChannelCredentials(files, identity);
  }
  throw new TypeError('a client certificate needs caFile, the authority of the server');
}

/** What every call carries to say who asks. Fails as a call would: the source may be away. */
export async function proofOf(credentials: Credentials, refused: boolean): Promise<Metadata> {
  const metadata = new Metadata();
  const { accessToken, sharedToken } = credentials;
  if (accessToken !== undefined) {
    try {
      metadata.set('authorization', `Bearer ${await accessToken(refused)}`);
    } catch (cause) {
      throw new IntrospectionError('unavailable', 'no access token of our own could be had', { cause });
    }
  } else if (sharedToken !== undefined) {
    metadata.set('authorization', `Bearer ${sharedToken}`);
  }
  if (accessToken === undefined) metadata.set('x-tessera-caller', 'introspector');
  return metadata;
}
