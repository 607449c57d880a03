import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { experimental } from '@grpc/grpc-js';

/** PEM files of one identity and of the authorities it trusts. */
export interface CertificateFiles {
  /** The chain, own certificate first. */
  readonly certificateFile?: string | undefined;
  readonly privateKeyFile?: string | undefined;
  /** The authorities whose certificates are accepted from the other side. */
  readonly caFile: string;
  /** Milliseconds between two reads of the files; 5 s by default. */
  readonly reloadMs?: number | undefined;
}

type Identity = experimental.IdentityCertificateUpdate;
type Authorities = experimental.CaCertificateUpdate;

/**
 * Certificates that grpc-js reads again from their files. An update that cannot be read, or whose key belongs to
 * another certificate (half of a rotation), is reported and not used: the last good one stays, where grpc-js alone
 * would refuse every connection.
 * @param report is called for each such update
 * @throws Error naming the file or the mismatch if the first set is not usable
 */
export function watchCertificates(
  { certificateFile, privateKeyFile, caFile, reloadMs = 5_000 }: CertificateFiles,
  report: (error: Error) => void,
): experimental.CertificateProvider {
  const watcher = new experimental.FileWatcherCertificateProvider({
    certificateFile,
    privateKeyFile,
    caCertificateFile: caFile,
    refreshIntervalMs: reloadMs,
  });
  const authorities = lastGood<Authorities>(
    { caCertificate: readFileSync(caFile) },
    ({ caCertificate: ca }) => void createSecureContext({ ca }),
    report,
  );
  const identity = lastGood<Identity>(
    certificateFile === undefined || privateKeyFile === undefined
      ? null
      : { certificate: readFileSync(certificateFile), privateKey: readFileSync(privateKeyFile) },
    ({ certificate: cert, privateKey: key }) => void createSecureContext({ cert, key }),
    report,
  );
  return {
    addCaCertificateListener: (listener) => watcher.addCaCertificateListener(authorities.follow(listener)),
    removeCaCertificateListener: (listener) =>
      watcher.removeCaCertificateListener(authorities.forget(listener)),
    addIdentityCertificateListener: (listener) =>
      watcher.addIdentityCertificateListener(identity.follow(listener)),
    removeIdentityCertificateListener: (listener) =>
      watcher.removeIdentityCertificateListener(identity.forget(listener)),
  };
}

type Listener<U> = (update: U | null) => void;

/** Notifies listeners of valid updates only; a new listener gets the latest at once. */
function lastGood<U extends object>(
  first: U | null,
  check: (update: U) => void,
  report: (error: Error) => void,
) {
  if (first !== null) check(first);
  let current = first;
  let trouble = '';
  const followers = new Map<Listener<U>, Listener<U>>();
  const usable = (update: U | null): update is U => {
    try {
      if (update === null) throw new Error('a certificate file cannot be read');
      check(update);
      trouble = '';
      return true;
    } catch (error) {
      // Read every few seconds; said once.
      if (String(error) !== trouble) report(error as Error);
      trouble = String(error);
      return false;
    }
  };
  return {
    follow(listener: Listener<U>): Listener<U> {
      process.nextTick(listener, current);
      const follower: Listener<U> = (update) => {
        if (!usable(update)) return;
        current = update;
        listener(update);
      };
      followers.set(listener, follower);
      return follower;
    },
    forget(listener: Listener<U>): Listener<U> {
      const follower = followers.get(listener) ?? listener;
      followers.delete(listener);
      return follower;
    },
  };
}
