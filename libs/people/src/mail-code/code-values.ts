import { createHash, createHmac, type KeyObject } from 'node:crypto';
import { derivedKey } from '@tessera/directory/ground';

export const codeDigits = 8;

/** Codes, and what is stored of them and of the visits that they are for. */
export function createCodeValues(pepper: KeyObject) {
  const codeKey = derivedKey(pepper, 'mail-code.codes');
  const digestKey = derivedKey(pepper, 'mail-code.digests');

  /** Of 64 random bits, so that each code is as likely as another. */
  const codeOf = (mailId: string) => {
    const mac = createHmac('sha256', codeKey).update(mailId).digest().readBigUInt64BE();
    return String(mac % 10n ** BigInt(codeDigits)).padStart(codeDigits, '0');
  };
  /** The visit is not stored, as it proves whose browser it is. */
  const holderOf = (visit: string) => createHash('sha256').update(visit).digest('base64url');
  const digestOf = (holder: string, code: string) =>
    createHmac('sha256', digestKey).update(`${holder}\0${code}`).digest();

  return { codeOf, holderOf, digestOf };
}
