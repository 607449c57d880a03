import { domainToUnicode } from 'node:url';
import { normalizeStart, withAsciiDomain } from '@tessera/kit';
import type { UserRecord } from './fields.ts';

/** Longer than any identifier that can be registered, in UTF-16 code units. */
export const longestIdentifier = 512;

/**
 * The form in which identifiers are stored and looked up: composed Unicode in lower case, phone numbers without
 * separators, the domains of e-mail addresses in ASCII.
 */
export function normalizeIdentifier(identifier: string): string {
  const text = normalizeStart(identifier.trim(), 'NFC', longestIdentifier).toLowerCase();
  if (/^\+[\d\s().-]+$/.test(text)) return text.replace(/[\s().-]/g, '');
  return /[^\0-\x7f]/.test(text) ? withAsciiDomain(text) : text;
}

/** A normalized identifier and, of an international domain, the form in which an earlier version stored it. */
export function storedForms(identifier: string): string[] {
  const at = identifier.lastIndexOf('@') + 1;
  const domain = identifier.slice(at);
  const earlier = domain.includes('xn--') ? domainToUnicode(domain) : domain;
  return [...new Set([identifier, `${identifier.slice(0, at)}${earlier}`])];
}

/** The identifiers that a person can sign in with. */
export function identifiersOf(user: Pick<UserRecord, 'username' | 'email' | 'phoneNumber'>): string[] {
  const given = [user.username, user.email, user.phoneNumber].filter((identifier) => identifier !== '');
  return [...new Set(given.map(normalizeIdentifier))];
}
