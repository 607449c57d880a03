import { claimNameProblem } from '@tessera/oauth';
import { z } from 'zod';
import { line } from './text.ts';

const mostAttributes = 50;
/** Of all attributes of a user as JSON in UTF-8: tokens may hold every one of them, and travel in headers. */
const mostAttributeBytes = 4096;
const mostClaims = 20;

const attributeName = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{0,63}$/,
    'must be at most 64 letters, digits, dashes and underscores, the first one a letter',
  );

/** What applications may map to claims: a text or a list of texts under each name. */
export const attributes = z
  .record(
    attributeName,
    z.union([line(1024), z.array(line(256)).min(1).max(100)], 'must be text or a list of texts'),
  )
  .refine((values) => Object.keys(values).length <= mostAttributes, `must be at most ${mostAttributes}`)
  .refine(
    (values) => Buffer.byteLength(JSON.stringify(values)) <= mostAttributeBytes,
    `must be at most ${mostAttributeBytes} bytes together`,
  )
  .default({});

const claimName = z.string().superRefine((name, context) => {
  const message = claimNameProblem(name);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

/** Claims by name, each with its source and the places where it is set. */
export const claims = z
  .record(
    claimName,
    z.strictObject({
      attribute: attributeName.optional(),
      roles: z.literal(true).optional(),
      targets: z.array(z.enum(['idToken', 'accessToken', 'userinfo'])).min(1),
    }),
  )
  .refine((mapped) => Object.keys(mapped).length <= mostClaims, `must be at most ${mostClaims}`)
  .default({});

export type Attributes = Readonly<Record<string, string | readonly string[]>>;
export type Claims = z.infer<typeof claims>;
