import { sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { accessTokenType, idTokenType, temporarilyUnavailable } from '@tessera/oauth';

export type TokenKind = 'accessToken' | 'idToken';

/** A key that signs, with its protected headers encoded once. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  /** base64url of the protected header, and the dot behind it. */
  readonly headers: Readonly<Record<TokenKind, string>>;
}

export interface SigningInput {
  readonly kind: TokenKind;
  /** The claims as a JSON text in UTF-8. */
  readonly payload: Uint8Array;
}

export function signingKey(kid: string, privateKey: KeyObject): SigningKey {
  const header = (typ: string) =>
    `${Buffer.from(JSON.stringify({ alg: 'RS256', kid, typ })).toString('base64url')}.`;
  return { kid, privateKey, headers: { accessToken: header(accessTokenType), idToken: header(idTokenType) } };
}

/** Signatures that may wait for a thread; some 0.5 s of work on two cores. */
const maximumPending = 4096;

export interface Signer {
  /**
   * One compact JWS with RS256 per input, in order (RFC 7515 §7.1, RFC 7518 §3.3). Throws `temporarily_unavailable` when
   * more signatures wait than can be made before callers give up.
   */
  sign(key: SigningKey, inputs: readonly SigningInput[]): Promise<string[]>;
}

export function createSigner(limit = maximumPending): Signer {
  let pending = 0;
  return {
    async sign(key, inputs) {
      if (pending + inputs.length > limit)
        throw temporarilyUnavailable(new Error('Too many signatures are waiting.'));
      pending += inputs.length;
      try {
        return await Promise.all(inputs.map((input) => signOne(key, input)));
      } finally {
        pending -= inputs.length;
      }
    },
  };
}

/** With a callback the signature is made on the thread pool; without one it would block the event loop. */
function signOne(key: SigningKey, { kind, payload }: SigningInput): Promise<string> {
  const view = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const text = key.headers[kind] + view.toString('base64url');
  return new Promise((resolve, reject) => {
    sign('RSA-SHA256', Buffer.from(text, 'latin1'), key.privateKey, (error, signature) => {
      if (error) reject(error);
      else resolve(`${text}.${signature.toString('base64url')}`);
    });
  });
}
