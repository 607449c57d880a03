import { sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { metrics } from '@tessera/telemetry';
import {
  accessTokenHash,
  accessTokenType,
  idTokenType,
  logoutTokenType,
  signingAlgorithms,
  temporarilyUnavailable,
  type SigningAlgorithmName,
} from '@tessera/oauth';

export type TokenKind = 'accessToken' | 'idToken' | 'logoutToken';

/** A private key, with its protected headers already encoded. */
export interface SigningKey {
  readonly kid: string;
  readonly algorithm: SigningAlgorithmName;
  readonly privateKey: KeyObject;
  /** base64url of the protected header, and the dot after it. */
  readonly headers: Readonly<Record<TokenKind, string>>;
}

export type SigningInput = PlainInput | HashingInput;

interface PlainInput {
  readonly kind: TokenKind;
  /** The claims as a JSON text in UTF-8. */
  readonly payload: Uint8Array;
}

/** Claims to which `at_hash` is added: the hash of the token of an earlier input (OIDC Core §3.1.3.6). */
interface HashingInput {
  readonly kind: TokenKind;
  readonly claims: object;
  readonly atHashOf: number;
}

export function signingKey(algorithm: SigningAlgorithmName, kid: string, privateKey: KeyObject): SigningKey {
  const header = (typ: string) =>
    `${Buffer.from(JSON.stringify({ alg: algorithm, kid, typ })).toString('base64url')}.`;
  const headers = {
    accessToken: header(accessTokenType),
    idToken: header(idTokenType),
    logoutToken: header(logoutTokenType),
  };
  return { kid, algorithm, privateKey, headers };
}

/** Signatures that may wait for a thread; about 0.5 s of work on two cores. */
const maximumPending = 4096;

export interface Signer {
  /**
   * One compact JWS per input, in order (RFC 7515 §7.1). Throws `temporarily_unavailable` if
   * too many signatures are waiting.
   */
  sign(key: SigningKey, inputs: readonly SigningInput[]): Promise<string[]>;
}

const signatures = metrics.counter({ name: 'tessera_signatures_total', help: 'Signatures made.' });

export function createSigner(limit = maximumPending): Signer {
  let pending = 0;
  return {
    async sign(key, inputs) {
      if (pending + inputs.length > limit)
        throw temporarilyUnavailable(new Error('Too many signatures are waiting.'));
      pending += inputs.length;
      try {
        const tokens = await signAll(key, inputs);
        signatures.inc(tokens.length);
        return tokens;
      } finally {
        pending -= inputs.length;
      }
    },
  };
}

/** Signs in parallel, except for inputs that need the token of another input. */
function signAll(key: SigningKey, inputs: readonly SigningInput[]): Promise<string[]> {
  const tokens: Promise<string>[] = [];
  for (const input of inputs) {
    const { kind } = input;
    if ('payload' in input) tokens.push(signOne(key, kind, bytesOf(input.payload)));
    else tokens.push(signAfter(key, input, tokens[input.atHashOf]));
  }
  return Promise.all(tokens);
}

async function signAfter(
  key: SigningKey,
  { kind, claims, atHashOf }: HashingInput,
  earlier: Promise<string> | undefined,
): Promise<string> {
  if (earlier === undefined) throw new Error(`input ${atHashOf} does not come before the one that names it`);
  const withHash = { ...claims, at_hash: accessTokenHash(await earlier) };
  return signOne(key, kind, Buffer.from(JSON.stringify(withHash)));
}

function bytesOf(payload: Uint8Array): Buffer {
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
}

/** With a callback, the thread pool signs; without one, signing would block the event loop. */
function signOne(key: SigningKey, kind: TokenKind, payload: Buffer): Promise<string> {
  const text = key.headers[kind] + payload.toString('base64url');
  const { digest } = signingAlgorithms[key.algorithm];
  return new Promise((resolve, reject) => {
    sign(digest, Buffer.from(text, 'latin1'), key.privateKey, (error, signature) => {
      if (error) reject(error);
      else resolve(`${text}.${signature.toString('base64url')}`);
    });
  });
}
