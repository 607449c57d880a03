import { createHmac, type KeyObject } from 'node:crypto';
import { type PersonId, derivedKey } from '@tessera/directory/ground';

/**
 * Keyed digests of values of a person: the same value of somebody else has another one.
 * @param use of the key, such as `second-factors.recovery-codes`
 */
export function ownMac(pepper: KeyObject, use: string): (person: PersonId, value: string) => Buffer {
  const key = derivedKey(pepper, use);
  return ({ tenantId, userId }, value) =>
    createHmac('sha256', key).update(`${tenantId}\0${userId}\0${value}`).digest();
}
