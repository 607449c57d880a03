import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';
import type { Logger } from 'pino';
import { CertificateFiles } from './certificate-files.ts';
import type { CallerName } from './call.ts';
import { authorizationKey, callerKey, isLoopback } from './credentials.ts';
import type { RpcCredentials } from './credentials.ts';
import { bearer } from './gate.ts';
import { certifiedCaller } from './identity.ts';
import { Replicas } from './replicas.ts';
import { parseTarget } from './target.ts';

export interface ChannelPlan {
  readonly target: string;
  readonly as: CallerName;
  readonly credentials: RpcCredentials;
  /** Whose certificate is accepted under `mtls`; undefined: one that is valid for the host of the target. */
  readonly peer: CallerName | undefined;
  readonly log: Logger;
}

export interface OpenChannel {
  readonly replicas: Replicas;
  /** What every call carries: whom it is for and who calls, names and values in turn. */
  readonly headers: readonly string[];
  close(): void;
}

/**
 * The way to all replicas of a peer. It connects when it is first used, and again by itself.
 * @throws Error when the certificates are not good, or the target is none
 */
export function openChannel(plan: ChannelPlan): OpenChannel {
  const { credentials, log } = plan;
  const places = parseTarget(plan.target);
  const [{ host, port }] = places;
  const files = credentials.kind === 'mtls' ? new CertificateFiles(credentials, log) : undefined;
  const tls = files === undefined ? undefined : secured(files, plan);
  for (const place of places) tls?.(place.host);
  const replicas = new Replicas({ places, tls, log });
  return {
    replicas,
    headers: [
      ':scheme',
      tls === undefined ? 'http' : 'https',
      ':authority',
      `${host.includes(':') ? `[${host}]` : host}:${port}`,
      ...identityOf(plan),
    ],
    close: () => {
      replicas.close();
      files?.close();
    },
  };
}

/** TLS for a connection to a replica that was found under a host. */
function secured(files: CertificateFiles, plan: ChannelPlan): (host: string) => ConnectionOptions {
  const { peer, credentials } = plan;
  const trustDomain = credentials.kind === 'mtls' ? credentials.trustDomain : undefined;
  const verify: typeof checkServerIdentity = (host, certificate) => {
    if (peer === undefined) return checkServerIdentity(host, certificate);
    if (certifiedCaller(certificate.subjectaltname, trustDomain) === peer) return undefined;
    return new Error(`the certificate of ${host} is not that of ${peer}`);
  };
  return (host) => ({
    ...files.current,
    servername: serverName(host, plan),
    checkServerIdentity: verify,
    minVersion: 'TLSv1.3',
  });
}

/** TLS asks servers by name only (RFC 6066 §3); an address is asked for by the name of the peer. */
function serverName(host: string, { peer, target }: ChannelPlan): string {
  if (isIP(host) === 0) return host;
  const name = peer ?? (isLoopback(host) ? 'localhost' : undefined);
  if (name === undefined) throw new Error(`mutual TLS to ${target} needs the name of the peer`);
  return name;
}

function identityOf({ as, credentials }: ChannelPlan): string[] {
  // Under mTLS the certificate says who calls.
  if (credentials.kind === 'mtls') return [];
  const named = [callerKey, as];
  return credentials.kind === 'none' ? named : [...named, authorizationKey, bearer(credentials.token)];
}
