import type { ClaimObject } from '@tessera/oauth';
import { z } from 'zod';
import { snakeCase } from '../../fields/columns.ts';
import { shapeOf } from '../../fields/field.ts';
import { line } from '../../fields/values.ts';

const ofProfile = 'claim of the scope `profile`';

/** Longest URL of a claim, in characters. */
const longestUrl = 2048;

const webUrl = z.string().max(longestUrl).refine(isWebUrl, 'must be an absolute http or https URL');

function isWebUrl(text: string): boolean {
  return /^https?:\/\/\S+$/.test(text) && URL.canParse(text);
}

/** BCP 47; OIDC Core §5.1 asks for a dash between language and country. */
function isLocale(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

/** A name of the IANA time zone database. Offsets such as +01:00, which `Intl` takes too, are not names. */
function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    return Intl.DateTimeFormat('en', { timeZone: text }) !== undefined;
  } catch {
    return false;
  }
}

/** `YYYY-MM-DD`, `0000-MM-DD` for an unknown year, or `YYYY` (OIDC Core §5.1). */
function isBirthdate(text: string): boolean {
  if (/^\d{4}$/.test(text)) return true;
  // Every month has its days in a leap year, which the year zero of this calendar is.
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && z.iso.date().safeParse(text.replace(/^0000/, '2000')).success;
}

/** A part of an address that may have several lines. */
const lines = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[^\p{Cc}]*(\r?\n[^\p{Cc}]*)*$/u, 'must not have control characters other than line breaks');

/** The parts of the `address` claim (OIDC Core §5.1.1) in camelCase. */
const address = z
  .strictObject({
    formatted: lines.optional(),
    streetAddress: lines.optional(),
    locality: line(200).optional(),
    region: line(200).optional(),
    postalCode: line(40).optional(),
    country: line(200).optional(),
  })
  .refine((parts) => Object.keys(parts).length > 0, 'must have at least one part');

/** The standard claims of a user (OIDC Core §5.1) in camelCase, in addition to name, email and phoneNumber. */
export const standardClaims = {
  preferredUsername: { schema: line(200).optional(), reference: ofProfile },
  givenName: { schema: line(200).optional(), reference: ofProfile },
  familyName: { schema: line(200).optional(), reference: ofProfile },
  middleName: { schema: line(200).optional(), reference: ofProfile },
  nickname: { schema: line(200).optional(), reference: ofProfile },
  emailVerified: { schema: z.boolean().optional(), reference: '`true` or `false`, with `email`' },
  phoneNumberVerified: {
    schema: z.boolean().optional(),
    reference: '`true` or `false`, with `phoneNumber`',
  },
  locale: {
    schema: z
      .string()
      .max(100)
      .refine(isLocale, 'must be a language tag such as en or sv-SE (BCP 47)')
      .optional(),
    reference: `${ofProfile}: \`sv-SE\``,
  },
  zoneinfo: {
    schema: z
      .string()
      .max(100)
      .refine(isTimeZone, 'must be a time zone such as Europe/Stockholm (IANA)')
      .optional(),
    reference: `${ofProfile}: \`Europe/Stockholm\``,
  },
  picture: { schema: webUrl.optional(), reference: `${ofProfile}: a web address` },
  profile: { schema: webUrl.optional(), reference: `${ofProfile}: a web address` },
  website: { schema: webUrl.optional(), reference: `${ofProfile}: a web address` },
  gender: { schema: line(64).optional(), reference: ofProfile },
  birthdate: {
    schema: z
      .string()
      .refine(isBirthdate, 'must be a date such as "1985-12-10", "0000-12-10" without a year, or "1985"')
      .optional(),
    reference: `${ofProfile}: \`"1985-12-10"\`, \`"0000-12-10"\` or \`"1985"\`, in quotes`,
  },
  address: {
    schema: address.optional(),
    reference:
      'claim of the scope `address`: at least one of `formatted`, `streetAddress`, `locality`, `region`, `postalCode`, `country`',
  },
};

const declaredStandardClaims = z.object(shapeOf(standardClaims));
export type StandardClaims = z.infer<typeof declaredStandardClaims>;

/** The standard claims among the keys of a declared user, without those that are absent. */
export function standardClaimsOf(user: StandardClaims): StandardClaims {
  return declaredStandardClaims.parse(user);
}

/** Standard claims by their registered names: `givenName` becomes `given_name`, in an address too. */
export function claimsOf(declared: StandardClaims | NonNullable<StandardClaims['address']>): ClaimObject {
  const claims: ClaimObject = {};
  for (const [key, value] of Object.entries(declared)) {
    if (value !== undefined) claims[snakeCase(key)] = typeof value === 'object' ? claimsOf(value) : value;
  }
  return claims;
}
