import { KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import { defaultSigningAlgorithm, signingAlgorithms } from '@tessera/oauth';
import type { KeyWrapper } from './key-wrapper.ts';

/** A key that is not stored yet, with its private key already wrapped. */
export interface NewKey {
  /** RFC 7638 thumbprint, so that a kid is never used for two keys. */
  readonly kid: string;
  /** base64url (RFC 7518 §6.3.1). */
  readonly modulus: string;
  /** base64url (RFC 7518 §6.3.1). */
  readonly exponent: string;
  readonly wrappedPrivateKey: string;
}

/** Generates a key (RFC 7518 §3.3 asks for at least 2048 bits). Off the event loop; takes about 0.1 s. */
export async function generateSigningKey(wrapper: KeyWrapper): Promise<NewKey> {
  const { generation } = signingAlgorithms[defaultSigningAlgorithm];
  const pair = await generateKeyPair(defaultSigningAlgorithm, { ...generation, extractable: true });
  const { n, e } = await exportJWK(pair.publicKey);
  if (n === undefined || e === undefined) throw new Error('The generated key has no RSA parameters.');
  const kid = await calculateJwkThumbprint({ kty: 'RSA', n, e }, 'sha256');
  const der = KeyObject.from(pair.privateKey).export({ format: 'der', type: 'pkcs8' });
  const wrappedPrivateKey = await wrapper.wrap(kid, der);
  der.fill(0);
  return { kid, modulus: n, exponent: e, wrappedPrivateKey };
}
