import { createHash } from 'node:crypto';
import { z } from 'zod';

/** Shortest client secret, in characters. */
const shortestSecret = 32;

/** Of an application: one that is in use, and a second one during a rotation. */
export const mostSecrets = 2;

/** A declared secret. */
export const secret = z.strictObject({
  value: z
    .string()
    .min(shortestSecret)
    .max(256)
    .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII'),
  expiresAt: z.iso
    .datetime({ offset: true, error: 'must be a time such as 2030-01-31T12:00:00Z' })
    .transform((text) => Date.parse(text))
    .optional(),
});

/** The declared secrets of an application. Only their digests are stored. */
export const secrets = {
  schema: z.array(secret).max(mostSecrets).default([]),
  reference:
    'one or two for a confidential application, none for a public one: `value`, `fromEnv` or `fromFile`, of 32 to 256 characters; ' +
    '`expiresAt?` such as `2030-01-31T12:00:00Z`',
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
