import { isIP } from 'node:net';
import type { Logger } from 'pino';
import type { Secret } from '@tessera/kit';

import type { CallerName } from './call.ts';
import type { CertificateFiles } from './client/channel/certificates.ts';
import type { Prover } from './token-proof.ts';

/** PEM files of one identity and of the authorities it trusts. They are read again when they change. */
export interface CertificateFilePaths extends CertificateFiles {
  readonly certificateFile: string;
  readonly privateKeyFile: string;
}

/**
 * How the two ends of an internal call prove who they are. Both ends are given the same kind.
 * - `mtls`: the caller is who its certificate names.
 * - `token`: a caller with the shared token may claim any process name, unless the token belongs to one (`of`); for
 *   development and meshes.
 * - `none`: believed without proof; a server takes it on a loopback address only.
 */
export type RpcCredentials =
  | ({
      readonly kind: 'mtls';
      /** Whose names certificates must have: `<caller>.<trust domain>`. Undefined: any domain will do. */
      readonly trustDomain?: string | undefined;
    } & CertificateFilePaths)
  | {
      readonly kind: 'token';
      readonly token: Secret;
      readonly of?: CallerName;
      /** Of a server: lets callers prove that they know the token without sending it. */
      readonly prover?: Prover;
    }
  | { readonly kind: 'none' };

/** How a server has its callers prove who they are. `bearer`: by access tokens alone, where a route takes them. */
export type RpcServerCredentials = RpcCredentials | { readonly kind: 'bearer' };

/** Warns where a caller's name is taken on trust. */
export function warnOfTrust(credentials: RpcServerCredentials, log: Logger): void {
  if (credentials.kind === 'token' && credentials.of === undefined) {
    log.warn(
      'anyone with TESSERA_RPC_TOKEN can call under the name of any process; use TESSERA_RPC_AUTH=mtls to authenticate each process',
    );
  } else if (credentials.kind === 'mtls' && credentials.trustDomain === undefined) {
    log.warn(
      'a certificate for <process>.<any domain> is accepted as that process; set TESSERA_RPC_TRUST_DOMAIN to accept one domain only',
    );
  }
}

/** Warns that a changed certificate is not used. */
export function warnNotReloaded(log: Logger, files: CertificateFilePaths, error: Error): void {
  const { certificateFile } = files;
  log.warn({ certificateFile, err: error }, 'certificate not reloaded, the last good one stays');
}

/** Metadata keys of the two kinds without certificates. */
export const callerKey = 'x-tessera-caller';
export const authorizationKey = 'authorization';

/** Whether an IP address reaches this machine alone. */
export function isLoopback(address: string): boolean {
  if (isIP(address) === 4) return address.startsWith('127.');
  return address === '::1' || address.startsWith('::ffff:127.');
}
