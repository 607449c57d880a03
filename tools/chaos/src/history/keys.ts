import { createPublicKey, verify, type JsonWebKeyInput, type KeyObject } from 'node:crypto';

/** The keys published so far. */
export class SeenKeys {
  readonly #keys = new Map<string, KeyObject>();

  /** Returns the key ids of the set. */
  add(document: Record<string, unknown>): string[] {
    const keys = (document['keys'] ?? []) as (JsonWebKeyInput['key'] & { kid: string })[];
    for (const key of keys) {
      if (!this.#keys.has(key.kid)) this.#keys.set(key.kid, createPublicKey({ key, format: 'jwk' }));
    }
    return keys.map(({ kid }) => kid);
  }

  /** Whether the key that the JWT names was published before and verifies it. */
  verifies(token: string): boolean {
    const [header = '', payload = '', signature = ''] = token.split('.');
    const { kid, alg } = JSON.parse(Buffer.from(header, 'base64url').toString()) as {
      kid?: string;
      alg?: string;
    };
    const key = this.#keys.get(kid ?? '');
    if (key === undefined || alg !== 'RS256') return false;
    return verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url'));
  }
}
