import { createHash } from 'node:crypto';
import { systemClock } from '@tessera/kit';
import { z } from 'zod';

/** Shortest client secret that may last, in characters. */
export const shortestSecret = 32;
/** Longest one, in characters. */
export const longestSecret = 256;

/** How far ahead the end of a shorter one may be, in days: who moves here has that long to replace it. */
export const mostDaysOfShortSecret = 90;

/** Of an application: one that is in use, and a second one during a rotation. */
export const mostSecrets = 2;

const value = z
  .string()
  .min(1)
  .max(longestSecret)
  .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII');
const expiresAt = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2030-01-31T12:00:00Z' })
  .transform((text) => Date.parse(text))
  .optional();

/** A secret that is made by a call. */
export const secret = z.strictObject({ value: value.min(shortestSecret), expiresAt });

/** A declared secret, which may be a short one of another product for a while. */
const declaredSecret = z.strictObject({ value, expiresAt }).superRefine((declared, context) => {
  if (declared.value.length >= shortestSecret) return;
  const latest = systemClock.now() + mostDaysOfShortSecret * 86_400_000;
  if (declared.expiresAt !== undefined && declared.expiresAt <= latest) return;
  const instead = `or an expiresAt within ${mostDaysOfShortSecret} days`;
  context.addIssue({
    code: 'custom',
    path: ['value'],
    message: `must have at least ${shortestSecret} characters, ${instead}`,
  });
});

/** The declared secrets of an application. Only their digests are stored. */
export const secrets = {
  schema: z.array(declaredSecret).max(mostSecrets).default([]),
  reference:
    'one or two for a confidential application, none for a public one: `value`, `fromEnv` or `fromFile`, of 32 to 256 characters; ' +
    `shorter ones need an end within ${mostDaysOfShortSecret} days; ` +
    '`expiresAt?` such as `2030-01-31T12:00:00Z`; without any, an application that exists keeps its own',
};

export interface SecretRecord {
  /** Keyed digest in base64url. */
  readonly digest: string;
  /** Milliseconds since the Unix epoch; undefined if it does not expire. */
  readonly expiresAt: number | undefined;
}

/** What operators call a secret by; it reveals neither the secret nor its digest. */
export function secretIdOf(digest: string): string {
  return createHash('sha256').update(digest).digest('base64url').slice(0, 22);
}
