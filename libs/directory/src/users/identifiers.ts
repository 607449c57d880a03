import { normalizeStart } from '@tessera/kit';
import type { UserRecord } from './fields.ts';

/** Longer than any identifier that can be registered, in UTF-16 code units. */
export const longestIdentifier = 512;

/**
 * The form in which identifiers are stored and looked up: composed Unicode in lower case, phone numbers without
 * separators.
 */
export function normalizeIdentifier(identifier: string): string {
  const text = normalizeStart(identifier.trim(), 'NFC', longestIdentifier).toLowerCase();
  return /^\+[\d\s().-]+$/.test(text) ? text.replace(/[\s().-]/g, '') : text;
}

/** The identifiers that a person can sign in with. */
export function identifiersOf(user: Pick<UserRecord, 'username' | 'email' | 'phoneNumber'>): string[] {
  const given = [user.username, user.email, user.phoneNumber].filter((identifier) => identifier !== '');
  return [...new Set(given.map(normalizeIdentifier))];
}
