/** How many codes a person gets at once. */
export const recoveryCodeCount = 10;

/** Crockford's, in which no two look alike. Its length divides 256, so that all are equally likely. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Letters of a code. */
const codeLength = 10;

/** Codes of the random bytes that each gets, of which the first ten count, with 50 bits each: `k3x7q-9mfah`. */
export function recoveryCodesOf(bytesOf: (index: number) => Uint8Array): string[] {
  return Array.from({ length: recoveryCodeCount }, (_, index) => {
    const bytes = [...bytesOf(index).subarray(0, codeLength)];
    const letters = bytes.map((byte) => alphabet[byte % alphabet.length]).join('');
    return `${letters.slice(0, 5)}-${letters.slice(5)}`;
  });
}

/** A code as typed, in the form in which it was given. */
export function normalizedRecoveryCode(typed: string): string {
  const letters = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1');
  return `${letters.slice(0, 5)}-${letters.slice(5)}`;
}
