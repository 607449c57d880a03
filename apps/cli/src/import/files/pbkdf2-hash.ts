/** Bytes of a block of PBKDF2, by its digest. */
const blockBytes = { sha1: 20, sha256: 32, sha512: 64 } as const;
export type Digest = keyof typeof blockBytes;

/**
 * A PHC string of PBKDF2, of its first block: RFC 8018 §5.2 computes blocks one by one, and the first proves the
 * password, at a fraction of the cost.
 * @param secret `salt` and `value` in base64
 */
export function pbkdf2Hash(
  digest: Digest,
  iterations: number,
  { salt, value }: { readonly salt: string; readonly value: string },
): string {
  const tag = Buffer.from(value, 'base64').subarray(0, blockBytes[digest]).toString('base64');
  return `$pbkdf2-${digest}$i=${iterations}$${unpadded(salt)}$${unpadded(tag)}`;
}

export function unpadded(base64: string): string {
  return base64.replace(/=+$/, '');
}
