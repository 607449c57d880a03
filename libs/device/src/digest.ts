import { hash } from 'node:crypto';

/** Hexadecimal SHA-256, the form in which secret values are keys of short-lived stores. */
export function digest(value: string): string {
  return hash('sha256', value, 'hex');
}

/** How a value is named in audit rows. */
export function reference(hexDigest: string): string {
  return hexDigest.slice(0, 8);
}
