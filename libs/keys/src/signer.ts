import { sign } from 'node:crypto';
import type { KeyObject, SignKeyObjectInput } from 'node:crypto';
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
  readonly digest: string;
  /** The private key, and how `node:crypto` signs with it. */
  readonly input: SignKeyObjectInput;
  /** base64url of the protected header, and the dot after it. */
  readonly headers: Readonly<Record<TokenKind, string>>;
}

export type SigningInput = PlainInput | HashingInput;

interface PlainInput {
  readonly key: SigningKey;
  readonly kind: TokenKind;
  /** The claims as a JSON text in UTF-8. */
  readonly payload: Uint8Array;
}

/** Claims to which `at_hash` is added: the hash of the token of an earlier input (OIDC Core §3.1.3.6). */
interface HashingInput {
  readonly key: SigningKey;
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
  const { digest, signing } = signingAlgorithms[algorithm];
  return { kid, algorithm, digest, input: { key: privateKey, ...signing }, headers };
}

/** Signatures that may wait for a thread; about 0.5 s of work on two cores. */
const maximumPending = 4096;

export interface Signer {
  /**
   * One compact JWS per input, in order (RFC 7515 §7.1). Throws `temporarily_unavailable` if
   * too many signatures are waiting.
   */
  sign(inputs: readonly SigningInput[]): Promise<string[]>;
}

const signatures = metrics.counter({ name: 'tessera_signatures_total', help: 'Signatures made.' });

export function createSigner(limit = maximumPending): Signer {
  let pending = 0;
  return {
    async sign(inputs) {
      if (pending + inputs.length > limit)
        throw temporarilyUnavailable(new Error('Too many signatures are waiting.'));
      pending += inputs.length;
      try {
        const tokens = await signAll(inputs);
        signatures.inc(tokens.length);
        return tokens;
      } finally {
        pending -= inputs.length;
      }
    },
  };
}

/** Signs in parallel, except for inputs that need the token of another input. */
function signAll(inputs: readonly SigningInput[]): Promise<string[]> {
  const tokens: Promise<string>[] = [];
  for (const input of inputs) {
    if ('payload' in input) tokens.push(signOne(input, bytesOf(input.payload)));
    else tokens.push(signAfter(input, tokens[input.atHashOf]));
  }
  return Promise.all(tokens);
}

async function signAfter(input: HashingInput, earlier: Promise<string> | undefined): Promise<string> {
  const { claims, atHashOf } = input;
  if (earlier === undefined) throw new Error(`input ${atHashOf} does not come before the one that names it`);
  const withHash = { ...claims, at_hash: accessTokenHash(await earlier) };
  return signOne(input, Buffer.from(JSON.stringify(withHash)));
}

function bytesOf(payload: Uint8Array): Buffer {
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
}

/** With a callback, the thread pool signs; without one, signing would block the event loop. */
function signOne({ key, kind }: SigningInput, payload: Buffer): Promise<string> {
  const text = key.headers[kind] + payload.toString('base64url');
  return new Promise((resolve, reject) => {
    sign(key.digest, Buffer.from(text, 'latin1'), key.input, (error, signature) => {
      if (error) reject(error);
      else resolve(`${text}.${signature.toString('base64url')}`);
    });
  });
}
