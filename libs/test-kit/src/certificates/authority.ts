import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bits, boolean, element, integer, objectId, octets, sequence, set, text, time } from './der.ts';

/** PEM texts of one certificate and its private key. */
export interface Credentials {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** Milliseconds since the Unix epoch; a minute ago unless given. */
  readonly notBefore?: number;
  /** Milliseconds since the Unix epoch; in a day unless given. */
  readonly notAfter?: number;
}

/** A certificate authority that exists for one test. */
export interface Authority {
  /** PEM of its own certificate. */
  readonly cert: string;
  /**
   * A certificate for a server and client of this name, which is its common name and a DNS name; `localhost` and the
   * loopback addresses stand beside it.
   */
  issue(name: string, options?: CertificateOptions): Credentials;
}

const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'));
const minute = 60_000;
const day = 24 * 60 * minute;

export function createAuthority(): Authority {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const own = distinguishedName(`tests ${randomBytes(4).toString('hex')}`);
  const certify = (
    subject: Buffer,
    key: KeyObject,
    extensions: readonly Buffer[],
    options: CertificateOptions = {},
  ) => {
    const { notBefore = Date.now() - minute, notAfter = Date.now() + day } = options;
    const body = sequence(
      element(0xa0, integer(Buffer.from([2]))),
      integer(randomBytes(16)),
      ecdsaWithSha256,
      own,
      sequence(time(notBefore), time(notAfter)),
      subject,
      key.export({ type: 'spki', format: 'der' }),
      element(0xa3, sequence(...extensions)),
    );
    return pem(sequence(body, ecdsaWithSha256, bits(sign('sha256', body, privateKey))));
  };
  return {
    cert: certify(own, publicKey, authorityExtensions),
    issue(name, options) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' });
      return { cert: certify(distinguishedName(name), pair.publicKey, peerExtensions(name), options), key };
    },
  };
}

/** Paths of certificates written for a set of processes. */
export interface CertificateFiles {
  readonly ca: string;
  readonly certificates: Readonly<Record<string, { readonly cert: string; readonly key: string }>>;
}

/** Writes `ca.pem` and, for each name, `<name>.pem` and `<name>.key` into `directory`; a new authority each time. */
export async function createCertificates(
  directory: string,
  names: readonly string[],
  options?: CertificateOptions,
): Promise<CertificateFiles> {
  const authority = createAuthority();
  await mkdir(directory, { recursive: true });
  const ca = join(directory, 'ca.pem');
  await writeFile(ca, authority.cert);
  const certificates: Record<string, { cert: string; key: string }> = {};
  for (const name of names) {
    const files = { cert: join(directory, `${name}.pem`), key: join(directory, `${name}.key`) };
    const issued = authority.issue(name, options);
    await writeFile(files.cert, issued.cert);
    await writeFile(files.key, issued.key, { mode: 0o600 });
    certificates[name] = files;
  }
  return { ca, certificates };
}

/** Extensions of RFC 5280 §4.2.1. */
const extension = (id: string, critical: boolean, value: Buffer) =>
  sequence(objectId(id), ...(critical ? [boolean(true)] : []), octets(value));

const basicConstraints = (authority: boolean) =>
  extension('2.5.29.19', true, authority ? sequence(boolean(true)) : sequence());
/** Bit 0 is digitalSignature, bit 5 keyCertSign. */
const keyUsage = (firstByte: number, unused: number) =>
  extension('2.5.29.15', true, bits(Buffer.from([firstByte]), unused));

const authorityExtensions = [basicConstraints(true), keyUsage(0b0000_0100, 2)];

function peerExtensions(name: string): Buffer[] {
  const dns = (value: string) => element(0x82, Buffer.from(value));
  const address = (...bytes: readonly number[]) => element(0x87, Buffer.from(bytes));
  const loopback6 = address(...Array<number>(15).fill(0), 1);
  return [
    basicConstraints(false),
    keyUsage(0b1000_0000, 7),
    extension('2.5.29.37', false, sequence(objectId('1.3.6.1.5.5.7.3.1'), objectId('1.3.6.1.5.5.7.3.2'))),
    extension('2.5.29.17', false, sequence(dns(name), dns('localhost'), address(127, 0, 0, 1), loopback6)),
  ];
}

const distinguishedName = (commonName: string) =>
  sequence(set(sequence(objectId('2.5.4.3'), text(commonName))));

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
