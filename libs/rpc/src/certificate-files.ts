import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import type { CertificateFilePaths } from './credentials.ts';

/** One consistent set of PEM texts: the key belongs to the certificate. */
export interface CertificateSet {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer;
}

const defaultReloadMs = 5_000;

/**
 * An identity in files, looked at again every few seconds. A set that cannot be read or does not fit together (half
 * of a rotation) is not taken: the last good one stays, and the log says so.
 */
export class CertificateFiles {
  readonly #paths: CertificateFilePaths;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #listeners = new Set<(set: CertificateSet) => void>();
  #current: CertificateSet;
  #trouble = '';

  /** @throws Error naming the file or the mismatch, when the first set is not good */
  constructor(paths: CertificateFilePaths & { readonly reloadMs?: number }, log: Logger) {
    this.#paths = paths;
    this.#log = log;
    this.#current = checked({
      cert: readFileSync(paths.certificateFile),
      key: readFileSync(paths.privateKeyFile),
      ca: readFileSync(paths.caFile),
    });
    this.#timer = setInterval(() => void this.#look(), paths.reloadMs ?? defaultReloadMs);
    this.#timer.unref();
  }

  get current(): CertificateSet {
    return this.#current;
  }

  /** Called with every later set. */
  onChange(listener: (set: CertificateSet) => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#listeners.clear();
  }

  async #look(): Promise<void> {
    try {
      const [cert, key, ca] = await Promise.all([
        readFile(this.#paths.certificateFile),
        readFile(this.#paths.privateKeyFile),
        readFile(this.#paths.caFile),
      ]);
      if (same(this.#current, { cert, key, ca })) return;
      this.#current = checked({ cert, key, ca });
      this.#trouble = '';
      this.#log.info({ certificateFile: this.#paths.certificateFile }, 'certificate reloaded');
      for (const listener of this.#listeners) listener(this.#current);
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    const trouble = String(error);
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.#log.warn(
      { certificateFile: this.#paths.certificateFile, error },
      'certificate not reloaded, the last good one stays',
    );
  }
}

function checked(set: CertificateSet): CertificateSet {
  createSecureContext({ cert: set.cert, key: set.key, ca: set.ca });
  return set;
}

function same(a: CertificateSet, b: CertificateSet): boolean {
  return a.cert.equals(b.cert) && a.key.equals(b.key) && a.ca.equals(b.ca);
}
