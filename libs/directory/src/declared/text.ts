import { z } from 'zod';

/** One line of text, at most `max` UTF-16 code units long. */
export function line(max: number) {
  return z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\p{Cc}]*$/u, 'must not have control characters')
    .refine((value) => value.trim() === value, 'must not begin or end with a space');
}
