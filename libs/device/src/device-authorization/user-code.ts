import { normalizeStart, type Random } from '@tessera/kit';
import { digest } from '../digest.ts';

/** Letters that are not confused with each other and form no words (RFC 8628 §6.1). */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ';
const length = 8;

/** Larger bytes would favour the first letters. */
const fairBytes = 256 - (256 % alphabet.length);

/** A new user code, shown as `XXXX-XXXX`: 34.5 bits, enough for its short lifetime under the limits (RFC 8628 §5.1). */
export function newUserCode(random: Random): string {
  let letters = '';
  while (letters.length < length) {
    for (const byte of random.bytes(length)) {
      if (byte < fairBytes && letters.length < length) letters += alphabet.charAt(byte % alphabet.length);
    }
  }
  return `${letters.slice(0, length / 2)}-${letters.slice(length / 2)}`;
}

/** A longer input is not a user code. */
const maximumTyped = 64;

/** The key of a typed user code. Case, dashes and spaces are ignored. An invalid code gets a key that no code has. */
export function userCodeHash(typed: string): string {
  const letters = normalizeStart(typed, 'NFKC', maximumTyped)
    .toUpperCase()
    .replaceAll(/[\s\p{Pd}]/gu, '');
  return digest(`user_code:${letters}`);
}
