import { generateKeyPairSync, hash, sign } from 'node:crypto';

/** A passkey (ES256) without a device: it answers with the JSON that browsers send (WebAuthn L3 §5.1, §6.1). */
export interface Passkey {
  /** Base64url, as `userHandle` is. */
  readonly id: string;
  readonly userHandle: string;
  /** @param options what the page asks for, as JSON */
  create(options: string): string;
  sign(options: string): string;
}

/** @param origin of the issuer */
export function newPasskey(origin: string, id: string, userHandle: string): Passkey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const clientData = (type: string, options: string): Buffer => {
    const { challenge } = JSON.parse(options) as { challenge: string };
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  };
  /** Of a person who was verified. */
  const head = (flags: number): Buffer =>
    joined(hash('sha256', new URL(origin).hostname, 'buffer'), Buffer.from([0x05 | flags, 0, 0, 0, 0]));
  const answer = (response: Readonly<Record<string, Buffer>>, more: object = {}): string => {
    const encoded = Object.entries(response).map(([name, bytes]) => [name, bytes.toString('base64url')]);
    const result = { ...(Object.fromEntries(encoded) as object), ...more };
    return JSON.stringify({
      id,
      rawId: id,
      type: 'public-key',
      response: result,
      clientExtensionResults: {},
    });
  };
  return {
    id,
    userHandle,
    create(options) {
      const rawId = Buffer.from(id, 'base64url');
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
      const [left, right] = [x, y].map((each) => Buffer.from(each, 'base64url').toString('hex'));
      // COSE (RFC 9053 §7.1.1): {1: 2, 3: -7, -1: 1, -2: x, -3: y}.
      const key = `a5010203262001215820${left}225820${right}`;
      const authData = joined(head(0x40), Buffer.alloc(16), Buffer.from([0, rawId.length]), rawId, key);
      // CBOR (RFC 8949 §3): {"fmt": "none", "attStmt": {}, "authData": …}.
      const form = Buffer.from('\u{63}fmt\u{64}none\u{67}attStmt');
      const size = Buffer.from([0x58, authData.length]);
      const attestationObject = joined('a3', form, 'a0', Buffer.from('\u{68}authData'), size, authData);
      return answer({ clientDataJSON: clientData('webauthn.create', options), attestationObject });
    },
    sign(options) {
      const [clientDataJSON, authenticatorData] = [clientData('webauthn.get', options), head(0)];
      const signed = joined(authenticatorData, hash('sha256', clientDataJSON, 'buffer'));
      return answer(
        { clientDataJSON, authenticatorData, signature: sign('sha256', signed, privateKey) },
        { userHandle },
      );
    },
  };
}

/** @param parts bytes, or their hexadecimal digits */
const joined = (...parts: readonly (Buffer | string)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)));
