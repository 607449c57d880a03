import { hash } from 'node:crypto';

/** Hexadecimal SHA-256. Short-lived stores use it as the key of a secret value. */
export function digest(value: string): string {
  return hash('sha256', value, 'hex');
}

/** The short form of a digest in audit rows. */
export function reference(hexDigest: string): string {
  return hexDigest.slice(0, 8);
}
