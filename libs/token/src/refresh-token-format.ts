import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { type Random } from '@tessera/kit';

/** The content of a refresh token: its family and generation. */
export interface RefreshTokenReference {
  /** UUID in its text form. */
  readonly familyId: string;
  /** 1 for the first token of a family. */
  readonly generation: number;
}

/** Encodes and decodes refresh tokens without a store, so that garbage causes no database query. */
export interface RefreshTokenCodec {
  encode(reference: RefreshTokenReference): string;
  /** Undefined for any text that `encode` did not produce with one of the keys. */
  decode(token: string): RefreshTokenReference | undefined;
}

const macLabel = Buffer.from('tessera refresh token 1\0');
const bodyLength = 1 + 16 + 4;
const macLength = 32;
const prefix = 'tr_';
const tokenLength = prefix.length + Math.ceil(((bodyLength + macLength) * 4) / 3);
const highestGeneration = 0x7fffffff;

/**
 * A refresh token is `tr_` and the base64url of: key version (1 byte), family id (16 bytes), generation (4 bytes, big
 * endian), HMAC-SHA256 over a label and all of these (32 bytes). The first key signs, every key verifies.
 */
export function createRefreshTokenCodec(keys: readonly RefreshKey[]): RefreshTokenCodec {
  const [signing] = keys;
  if (signing === undefined) throw new Error('no refresh token key');
  const keyOfVersion = new Map(keys.map((entry) => [entry.version, entry.key]));
  return {
    encode({ familyId, generation }) {
      const body = Buffer.alloc(bodyLength);
      body.writeUInt8(signing.version, 0);
      body.write(familyId.replaceAll('-', ''), 1, 16, 'hex');
      body.writeUInt32BE(generation, 17);
      return encodeToken(Buffer.concat([body, mac(signing.key, body)]));
    },
    decode(token) {
      const bytes = decodeToken(token);
      if (bytes === undefined) return undefined;
      const body = bytes.subarray(0, bodyLength);
      const key = keyOfVersion.get(body.readUInt8(0));
      if (key === undefined || !timingSafeEqual(mac(key, body), bytes.subarray(bodyLength))) return undefined;
      const generation = body.readUInt32BE(17);
      if (generation < 1 || generation >= highestGeneration) return undefined;
      return { familyId: uuidText(body.subarray(1, 17)), generation };
    },
  };
}

/** A MAC key with its version, 1 to 255, which is part of the token. */
export interface RefreshKey {
  readonly version: number;
  readonly key: KeyObject;
}

const keyEntry = /^(\d{1,3}):([A-Za-z0-9+/_-]{43}=?)$/;

/**
 * Reads `1:<base64 of 32 bytes>[,2:...]`: the first key signs, all verify.
 * Undefined if the text has another form or a version appears twice.
 */
export function parseRefreshKeys(text: string): RefreshKey[] | undefined {
  const keys: RefreshKey[] = [];
  for (const entry of text.split(',')) {
    const [, version, encoded] = keyEntry.exec(entry.trim()) ?? [];
    if (version === undefined || encoded === undefined) return undefined;
    const bytes = Buffer.from(encoded, 'base64');
    const number = Number(version);
    if (bytes.length !== 32 || number < 1 || number > 255) return undefined;
    if (keys.some((known) => known.version === number)) return undefined;
    keys.push({ version: number, key: createSecretKey(bytes) });
  }
  return keys;
}

function mac(key: KeyObject, body: Buffer): Buffer {
  return createHmac('sha256', key).update(macLabel).update(body).digest();
}

function encodeToken(bytes: Buffer): string {
  return prefix + bytes.toString('base64url');
}

/**
 * Node's decoder ignores unknown characters and trailing bits, so only the canonical spelling of the bytes is accepted.
 */
function decodeToken(token: string): Buffer | undefined {
  if (token.length !== tokenLength || !token.startsWith(prefix)) return undefined;
  const bytes = Buffer.from(token.slice(prefix.length), 'base64url');
  return bytes.length === bodyLength + macLength && encodeToken(bytes) === token ? bytes : undefined;
}

/** A UUID version 4 (RFC 9562 §5.4) in its text form. */
export function newFamilyId(random: Random): string {
  const bytes = random.bytes(16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidText(bytes);
}

/** The text form of the 16 bytes of a UUID (RFC 9562 §4). */
function uuidText(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
