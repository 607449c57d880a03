import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { Channel, credentials as channelCredentials, experimental, Metadata } from '@grpc/grpc-js';
import type { ChannelCredentials, ChannelInterface, ChannelOptions } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { CertificateFiles } from './certificate-files.ts';
import type { CallerName } from './call.ts';
import { authorizationKey, callerKey, isLoopback } from './credentials.ts';
import type { RpcCredentials } from './credentials.ts';
import { bearer } from './gate.ts';
import { certifiedCaller } from './identity.ts';

export interface ChannelPlan {
  readonly target: string;
  readonly as: CallerName;
  readonly credentials: RpcCredentials;
  /** Whose certificate is accepted under `mtls`; undefined: one that is valid for the host of the target. */
  readonly peer: CallerName | undefined;
  readonly maxMessageBytes: number;
  readonly log: Logger;
}

export interface OpenChannel {
  readonly channel: ChannelInterface;
  /** What says who calls, for every call to carry. */
  readonly metadata: Metadata;
  close(): void;
}

const serviceConfig = {
  loadBalancingConfig: [
    {
      outlier_detection: {
        interval: { seconds: 10, nanos: 0 },
        base_ejection_time: { seconds: 30, nanos: 0 },
        max_ejection_percent: 50,
        // Relative to the other replicas only: a refused grant counts as a failed call, and a wave of bad requests
        // must not eject replicas that answer it as they should.
        success_rate_ejection: {
          stdev_factor: 1900,
          enforcement_percentage: 100,
          minimum_hosts: 3,
          request_volume: 50,
        },
        child_policy: [{ round_robin: {} }],
      },
    },
  ],
};

/**
 * One channel to all replicas of a peer. It connects when it is first used, and again by itself.
 * @throws Error when the certificates are not good
 */
export function openChannel(plan: ChannelPlan): OpenChannel {
  const files =
    plan.credentials.kind === 'mtls' ? new CertificateFiles(plan.credentials, plan.log) : undefined;
  const options: ChannelOptions = {
    'grpc.service_config': JSON.stringify(serviceConfig),
    // Names are given by the deployment; a TXT record must not bring another configuration.
    'grpc.service_config_disable_resolution': 1,
    // A replica that went without a word takes its share of the calls until a ping is missed: each waits for its deadline.
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 5_000,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2_000,
    'grpc.max_receive_message_length': plan.maxMessageBytes,
    'grpc.max_send_message_length': plan.maxMessageBytes,
    'grpc.enable_channelz': 0,
    // Calls between our own processes never leave by a proxy that the environment names for the outside.
    'grpc.enable_http_proxy': 0,
    // Each peer has connections of its own, so that closing one ends only them.
    'grpc.use_local_subchannel_pool': 1,
    ...(files === undefined ? {} : serverName(plan)),
  };
  const channel = new Channel(dnsTarget(plan.target), credentialsFor(files, plan), options);
  return {
    channel,
    metadata: identifyingMetadata(plan),
    close: () => {
      channel.close();
      files?.close();
    },
  };
}

function dnsTarget(target: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\/|^(dns|unix|ipv4|ipv6):/.test(target) ? target : `dns:///${target}`;
}

/** TLS asks servers by name only (RFC 6066 §3); an address is asked for by the name of the peer. */
function serverName(plan: ChannelPlan): ChannelOptions {
  // Of several addresses the first one speaks for all: they are replicas of one peer.
  const [path = ''] = dnsTarget(plan.target)
    .replace(/^[^:]+:(\/\/[^/]*\/)?/, '')
    .split(',');
  const host = experimental.splitHostPort(path)?.host ?? path;
  if (isIP(host) === 0) return {};
  const name = plan.peer ?? (isLoopback(host) ? 'localhost' : undefined);
  if (name === undefined) throw new Error(`mutual TLS to ${plan.target} needs the name of the peer`);
  return { 'grpc.ssl_target_name_override': name };
}

function credentialsFor(
  files: CertificateFiles | undefined,
  { peer, credentials }: ChannelPlan,
): ChannelCredentials {
  if (files === undefined) return channelCredentials.createInsecure();
  const trustDomain = credentials.kind === 'mtls' ? credentials.trustDomain : undefined;
  const verify: typeof checkServerIdentity = (host, certificate) => {
    if (peer === undefined) return checkServerIdentity(host, certificate);
    if (certifiedCaller(certificate.subjectaltname, trustDomain) === peer) return undefined;
    return new Error(`the certificate of ${host} is not that of ${peer}`);
  };
  return experimental.createCertificateProviderChannelCredentials(files, files, {
    checkServerIdentity: verify,
  });
}

function identifyingMetadata(plan: ChannelPlan): Metadata {
  const metadata = new Metadata();
  // Under mTLS the certificate says who calls.
  if (plan.credentials.kind === 'mtls') return metadata;
  metadata.set(callerKey, plan.as);
  if (plan.credentials.kind === 'token') metadata.set(authorizationKey, bearer(plan.credentials.token));
  return metadata;
}
