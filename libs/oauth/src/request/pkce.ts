import { hash, timingSafeEqual } from 'node:crypto';

const challengeShape = /^[A-Za-z0-9_-]{43}$/;
const verifierShape = /^[A-Za-z0-9._~-]{43,128}$/;

/** Whether `value` has the shape of an S256 challenge: 32 bytes in base64url (RFC 7636 §4.2). */
export function isCodeChallenge(value: unknown): value is string {
  return typeof value === 'string' && challengeShape.test(value);
}

/** Whether `value` is a code verifier: 43 to 128 unreserved characters (RFC 7636 §4.1). */
export function isCodeVerifier(value: unknown): value is string {
  return typeof value === 'string' && verifierShape.test(value);
}

/** The S256 challenge of a verifier: BASE64URL(SHA256(ASCII(verifier))) (RFC 7636 §4.2). */
export function codeChallenge(verifier: string): string {
  return hash('sha256', verifier, 'base64url');
}

/**
 * Whether the verifier is well formed and is the one behind the challenge (RFC 7636 §4.6), in constant time.
 * A missing or malformed challenge never matches: there is no way to skip the check.
 */
export function verifierMatches(verifier: unknown, challenge: unknown): boolean {
  if (!isCodeVerifier(verifier) || !isCodeChallenge(challenge)) return false;
  return timingSafeEqual(Buffer.from(codeChallenge(verifier)), Buffer.from(challenge));
}
