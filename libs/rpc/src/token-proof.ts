import { createHmac, timingSafeEqual } from 'node:crypto';
import { opaqueValue, Secret, type Random } from '@tessera/kit';

/**
 * How a caller and a process on one machine prove to each other that they know a token, which neither sends: another
 * process may have taken the port.
 *
 *     caller  ──── nonce ────────────────────────────> process
 *     caller  <─── its nonce, HMAC(token, port) ─────── process     compared before anything else is sent
 *     caller  ──── Bearer nonce.HMAC(token, caller) ──> process     each call; worth nothing to any other process
 */
export const proofPath = '/tessera.local/proof';

/** The header with the nonce of the caller. */
export const nonceHeader = 'x-tessera-nonce';

export interface Proof {
  /** Of the process, the same as long as it runs. */
  readonly nonce: string;
  /** That the process knows the token and listens on the port. */
  readonly proof: string;
}

/** The side that is called. */
export interface Prover {
  /** Undefined for what is no nonce. */
  prove(callersNonce: string, port: number): Proof | undefined;
  /** Whether a bearer token proves that its caller knows the token, to this process. */
  isProven(bearer: string): boolean;
}

const nonceForm = /^[A-Za-z0-9_-]{43}$/;

export function createProver(token: Secret, random: Random): Prover {
  const nonce = opaqueValue('', random);
  return {
    prove(callersNonce, port) {
      if (!nonceForm.test(callersNonce)) return undefined;
      return { nonce, proof: mac(token, ['process', String(port), callersNonce, nonce]) };
    },
    isProven(bearer) {
      const [callersNonce = '', proof = '', ...rest] = bearer.split('.');
      if (rest.length > 0 || !nonceForm.test(callersNonce)) return false;
      return isEqual(proof, mac(token, ['caller', callersNonce, nonce]));
    },
  };
}

/** The side that calls. */
export interface Challenge {
  readonly nonce: string;
  /**
   * The bearer token for calls to the process that gave the proof; undefined if it does not know the token, or listens
   * on another port.
   */
  bearer(answer: Proof, port: number): Secret | undefined;
}

export function createChallenge(token: Secret, random: Random): Challenge {
  const nonce = opaqueValue('', random);
  return {
    nonce,
    bearer({ nonce: ofProcess, proof }, port) {
      if (!nonceForm.test(ofProcess)) return undefined;
      if (!isEqual(proof, mac(token, ['process', String(port), nonce, ofProcess]))) return undefined;
      return new Secret(`${nonce}.${mac(token, ['caller', nonce, ofProcess])}`);
    },
  };
}

/** Parts have no line breaks. */
function mac(token: Secret, parts: readonly string[]): string {
  const text = ['tessera token proof 1', ...parts].join('\n');
  return createHmac('sha256', token.reveal()).update(text).digest('base64url');
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
