import type { ClaimObject } from '@tessera/oauth';
import { z } from 'zod';
import { line } from '../../fields/values.ts';

/** Attributes of a user. */
export const mostAttributes = 50;
/** Of all attributes of a user as JSON in UTF-8: tokens may hold every one of them, and travel in headers. */
export const mostAttributeBytes = 4096;

export const attributeName = z
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
  .refine(areFew, `must be at most ${mostAttributes}`)
  .refine(areSmall, `must be at most ${mostAttributeBytes} bytes together`)
  .default({});

function areFew(values: object): boolean {
  return Object.keys(values).length <= mostAttributes;
}

function areSmall(values: object): boolean {
  return Buffer.byteLength(JSON.stringify(values)) <= mostAttributeBytes;
}

/** Whether a user may have these attributes together. */
export function fitTogether(values: object): boolean {
  return areFew(values) && areSmall(values);
}

type Attributes = z.infer<typeof attributes>;

/** The attributes of a user as messages have them: absent when there are none. */
export function attributesSent(given: Attributes): { attributes?: ClaimObject } {
  return Object.keys(given).length === 0 ? {} : { attributes: given };
}
