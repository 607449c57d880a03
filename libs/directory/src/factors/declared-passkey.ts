import { credentialIdShape } from '@tessera/oauth';
import { z } from 'zod';

const base64url = z.string().regex(/^[\w-]+$/, 'must be base64url');

/** More are of no use to a person. */
export const mostPasskeys = 20;

/** COSE algorithms (RFC 9053) that sign-ins accept: EdDSA, ES256 and RS256. */
const algorithms: ReadonlySet<number> = new Set([-8, -7, -257]);

/** A passkey that a person has from elsewhere (WebAuthn L3 §4, credential record). */
export const declaredPasskey = z.strictObject({
  credentialId: z.string().regex(credentialIdShape, 'must be base64url of a credential ID'),
  publicKey: base64url
    .max(2048)
    .refine(
      (key) => algorithms.has(algorithmOf(Buffer.from(key, 'base64url')) ?? 0),
      'must be the COSE key of EdDSA, ES256 or RS256',
    ),
  rpId: z
    .string()
    .max(253)
    .regex(/^[a-z0-9.-]+$/, 'must be a host'),
  userHandle: base64url.max(86),
  signCount: z.int().min(0).max(4_294_967_295).default(0),
  transports: z
    .array(z.enum(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']))
    .max(7)
    .default([]),
});

export type DeclaredPasskey = z.infer<typeof declaredPasskey>;

/** `alg` of a COSE key (RFC 9052 §7.1): the keys of its map are in any order. Undefined for what is none. */
function algorithmOf(key: Buffer): number | undefined {
  const reader = { at: 0 };
  try {
    const [major, count] = headAt(key, reader);
    if (major !== 5) return undefined;
    for (let entry = 0; entry < count; entry += 1) {
      const label = valueAt(key, reader);
      const value = valueAt(key, reader);
      if (label === 3) return value;
    }
  } catch {
    // It ends too early.
  }
  return undefined;
}

/** The major type and the number of a data item (RFC 8949 §3). */
function headAt(bytes: Buffer, reader: { at: number }): [major: number, number: number] {
  const first = bytes.readUInt8(reader.at);
  const [major, short] = [first >> 5, first & 31];
  reader.at += 1;
  if (short < 24) return [major, short];
  const length = { 24: 1, 25: 2, 26: 4 }[short];
  if (length === undefined) throw new Error('no number of a key');
  const number = bytes.readUIntBE(reader.at, length);
  reader.at += length;
  return [major, number];
}

/** An integer; undefined for a text of bytes, which is passed over. */
function valueAt(bytes: Buffer, reader: { at: number }): number | undefined {
  const [major, number] = headAt(bytes, reader);
  if (major === 0) return number;
  if (major === 1) return -1 - number;
  if (major === 2 || major === 3) reader.at += number;
  else if (major !== 7) throw new Error('no value of a key');
  return undefined;
}
