import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Random } from '@tessera/kit';
import type { UpstreamSession } from '../../store/session-store.ts';
import type { ProviderAnswer } from './provider.ts';

/** It goes with the visit and the session. */
const longestIdToken = 4096;

const sidShape = /^[\x20-\x7e]{1,255}$/;

/** A `sid` that sessions can be known by (OIDC Back-Channel Logout §2.1); undefined for anything else. */
export function sidOf(claim: unknown): string | undefined {
  return typeof claim === 'string' && sidShape.test(claim) ? claim : undefined;
}

/**
 * What is kept of the session of a person at their provider. The ID token, which signs them out there, is encrypted
 * under the cookie of the browser, of which nothing but a digest is stored.
 */
export function upstreamSessionOf(
  provider: string,
  { idToken, claims }: ProviderAnswer,
  browserId: string,
  random: Random,
): UpstreamSession {
  const sid = sidOf(claims['sid']);
  return {
    provider,
    issuer: claims.iss,
    subject: claims.sub,
    ...(sid !== undefined && { sid }),
    ...(idToken.length <= longestIdToken && { hint: seal(idToken, browserId, random) }),
  };
}

/** The ID token of a session; undefined without one, or in another browser. */
export function idTokenOf({ hint = '' }: UpstreamSession, browserId: string): string | undefined {
  const sealed = Buffer.from(hint, 'base64url');
  if (sealed.length <= ivBytes + tagBytes) return undefined;
  const decipher = createDecipheriv(cipher, keyOf(browserId), sealed.subarray(0, ivBytes));
  decipher.setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes));
  try {
    return decipher.update(sealed.subarray(ivBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

function seal(idToken: string, browserId: string, random: Random): string {
  const iv = Buffer.from(random.bytes(ivBytes));
  const encipher = createCipheriv(cipher, keyOf(browserId), iv);
  const text = Buffer.concat([encipher.update(idToken, 'utf8'), encipher.final()]);
  return Buffer.concat([iv, encipher.getAuthTag(), text]).toString('base64url');
}

function keyOf(browserId: string): Buffer {
  return Buffer.from(hkdfSync('sha256', browserId, '', 'tessera id token of a provider', 32));
}
