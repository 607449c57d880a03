import type { KeyObject } from 'node:crypto';
import type { PersonId } from '@tessera/directory/ground';
import { ownMac } from '../change/own-mac.ts';

/** How authenticators know a person, base64url: says nothing to whoever has no key (WebAuthn L3 §14.6.1). */
export function userHandles(pepper: KeyObject): (person: PersonId) => string {
  const digest = ownMac(pepper, 'second-factors.user-handles');
  return (person) => digest(person, '').toString('base64url');
}
