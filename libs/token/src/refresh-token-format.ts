import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { type Random } from '@tessera/kit';

/** The content of a refresh token: its family and generation. */
export interface RefreshTokenReference {
  /** UUID in its text form. */
  readonly familyId: string;
  /** 1 for the first token of a family. */
  readonly generation: number;
}

/**
 * What an application that was made for Keycloak reads in its refresh token, in Keycloak's names. Nothing here reads
 * it.
 */
export interface RefreshTokenClaims {
  readonly typ: 'Refresh' | 'Offline';
  /** Seconds since the Unix epoch. */
  readonly exp: number;
  readonly iat: number;
  readonly jti: string;
  readonly iss: string;
  readonly aud: string;
  readonly sub: string;
  readonly azp: string;
  readonly sid?: string;
  readonly scope: string;
  readonly nonce?: string;
}

/** Encodes and decodes refresh tokens without a store, so that garbage causes no database query. */
export interface RefreshTokenCodec {
  /** @param claims makes it a JWT in form, with these for the application to read */
  encode(reference: RefreshTokenReference, claims?: RefreshTokenClaims): string;
  /** Undefined for any text that `encode` did not produce with one of the keys. */
  decode(token: string): DecodedRefreshToken | undefined;
}

export interface DecodedRefreshToken extends RefreshTokenReference {
  readonly isJwt: boolean;
}

const macLabel = Buffer.from('tessera refresh token 1\0');
const jwtMacLabel = Buffer.from('tessera refresh token 2\0');
const bodyLength = 1 + 16 + 4;
const macLength = 32;
const prefix = 'tr_';
const secretLength = Math.ceil(((bodyLength + macLength) * 4) / 3);
/** An algorithm and a type that no verifier of signatures knows: this is a refresh token and nothing else. */
const jwtHeader = Buffer.from('{"alg":"tessera-refresh","typ":"refresh+jwt"}').toString('base64url');
const highestGeneration = 0x7fffffff;

/**
 * A refresh token is `tr_` and the base64url of: key version (1 byte), family id (16 bytes), generation (4 bytes, big
 * endian), HMAC-SHA256 over a label and all of these (32 bytes). The first key signs, every key verifies. In the form
 * of a JWT these bytes are the third part; the MAC is over another label, the first two parts and the bytes before it.
 */
export function createRefreshTokenCodec(keys: readonly RefreshKey[]): RefreshTokenCodec {
  const [signing] = keys;
  if (signing === undefined) throw new Error('no refresh token key');
  const keyOfVersion = new Map(keys.map((entry) => [entry.version, entry.key]));
  return {
    encode({ familyId, generation }, claims) {
      const body = Buffer.alloc(bodyLength);
      body.writeUInt8(signing.version, 0);
      body.write(familyId.replaceAll('-', ''), 1, 16, 'hex');
      body.writeUInt32BE(generation, 17);
      const form = claims === undefined ? opaque : jwtOf(claims);
      return form.before + Buffer.concat([body, mac(signing.key, form, body)]).toString('base64url');
    },
    decode(token) {
      const form = formOf(token);
      const bytes = form && decodeSecret(token.slice(form.before.length));
      if (form === undefined || bytes === undefined) return undefined;
      const body = bytes.subarray(0, bodyLength);
      const key = keyOfVersion.get(body.readUInt8(0));
      if (key === undefined || !timingSafeEqual(mac(key, form, body), bytes.subarray(bodyLength)))
        return undefined;
      const generation = body.readUInt32BE(17);
      if (generation < 1 || generation >= highestGeneration) return undefined;
      return { familyId: uuidText(body.subarray(1, 17)), generation, isJwt: form !== opaque };
    },
  };
}

/** What stands before the secret, and what of it the MAC is over. */
interface Form {
  readonly before: string;
  readonly label: Buffer;
  readonly authenticated: string;
}

const opaque: Form = { before: prefix, label: macLabel, authenticated: '' };

function jwtOf(claims: RefreshTokenClaims): Form {
  return jwtForm(`${jwtHeader}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`);
}

function jwtForm(before: string): Form {
  return { before, label: jwtMacLabel, authenticated: before };
}

function formOf(token: string): Form | undefined {
  if (token.startsWith(prefix)) return opaque;
  if (!token.startsWith(`${jwtHeader}.`)) return undefined;
  return jwtForm(token.slice(0, token.lastIndexOf('.') + 1));
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

function mac(key: KeyObject, { label, authenticated }: Form, body: Buffer): Buffer {
  return createHmac('sha256', key).update(label).update(authenticated).update(body).digest();
}

/**
 * Node's decoder ignores unknown characters and trailing bits, so only the canonical spelling of the bytes is accepted.
 */
function decodeSecret(text: string): Buffer | undefined {
  if (text.length !== secretLength) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === bodyLength + macLength && bytes.toString('base64url') === text ? bytes : undefined;
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
