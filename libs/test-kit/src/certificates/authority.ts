// The certificate library resolves its parts by decorators, which need this before it is loaded.
import 'reflect-metadata';
import { createPrivateKey, randomBytes, webcrypto } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** PEM texts of one certificate and its private key. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** Milliseconds since the Unix epoch; a minute ago unless given. */
  readonly notBefore?: number;
  /** Milliseconds since the Unix epoch; in a day unless given. */
  readonly notAfter?: number;
  /** Further DNS names. */
  readonly alsoNamed?: readonly string[];
}

/** A certificate authority that exists for one test. */
export interface Authority {
  /** PEM of its own certificate. */
  readonly cert: string;
  /**
   * Issues a certificate for a server and client of this name, which is its common name and a DNS name in addition to
   * `localhost` and the loopback addresses.
   */
  issue(name: string, options?: CertificateOptions): Promise<CertificatePair>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const minute = 60_000;
const day = 24 * 60 * minute;

export async function createAuthority(): Promise<Authority> {
  const keys = await newKeyPair();
  const issuer = `CN=tests ${randomBytes(4).toString('hex')}`;
  const own = await X509CertificateGenerator.createSelfSigned({
    name: issuer,
    keys,
    ...validity(),
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
    ],
  });
  return {
    cert: pem(own.toString('pem')),
    async issue(name, options) {
      const pair = await newKeyPair();
      const issued = await X509CertificateGenerator.create({
        subject: [{ CN: [name] }],
        issuer,
        publicKey: pair.publicKey,
        signingKey: keys.privateKey,
        ...validity(options),
        signingAlgorithm: algorithm,
        extensions: extensionsOf([name, ...(options?.alsoNamed ?? [])]),
      });
      const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', pair.privateKey));
      const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
      return {
        cert: pem(issued.toString('pem')),
        key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      };
    },
  };
}

/** Paths of a certificate, its key and the folder in which they and the authority are, named as in a Secret. */
interface FilesOfCertificate {
  readonly folder: string;
  readonly cert: string;
  readonly key: string;
}

/** Paths of certificates written for a set of processes. */
export interface CertificateFiles {
  readonly ca: string;
  readonly certificates: Readonly<Record<string, FilesOfCertificate>>;
}

/** Writes for each name a folder with `tls.crt`, `tls.key` and `ca.crt` into `directory`; a new authority each time. */
export async function createCertificates(
  directory: string,
  names: readonly string[],
  options?: CertificateOptions,
): Promise<CertificateFiles> {
  const authority = await createAuthority();
  await mkdir(directory, { recursive: true });
  const ca = join(directory, 'ca.crt');
  await writeFile(ca, authority.cert);
  const certificates: Record<string, FilesOfCertificate> = {};
  for (const name of names) {
    const folder = join(directory, name);
    const files = { folder, cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
    await mkdir(folder);
    await writeFile(join(folder, 'ca.crt'), authority.cert);
    const issued = await authority.issue(name, options);
    await writeFile(files.cert, issued.cert);
    await writeFile(files.key, issued.key, { mode: 0o600 });
    certificates[name] = files;
  }
  return { ca, certificates };
}

function newKeyPair() {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function validity({ notBefore, notAfter }: CertificateOptions = {}) {
  const now = Date.now();
  return { notBefore: new Date(notBefore ?? now - minute), notAfter: new Date(notAfter ?? now + day) };
}

function extensionsOf(names: readonly string[]) {
  return [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
    new SubjectAlternativeNameExtension([
      ...names.map((value) => ({ type: 'dns', value }) as const),
      { type: 'dns', value: 'localhost' },
      { type: 'ip', value: '127.0.0.1' },
      { type: 'ip', value: '::1' },
    ]),
  ];
}

/** Several certificates in one file stand on lines of their own. */
function pem(text: string): string {
  return `${text.trimEnd()}\n`;
}
