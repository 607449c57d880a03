import { domainOfEmail } from '@tessera/kit';
import { durationText, parseDuration } from '@tessera/process/settings';
import { redirectUriProblem } from '@tessera/oauth';
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

const mostLanguages = 40;

/** Texts for people, by the BCP 47 tag of their language: a page shows the one in its own language. */
export function texts(max: number) {
  return z
    .record(
      z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}$/, 'must be a language tag, such as de or pt-BR'),
      line(max),
    )
    .refine((all) => Object.keys(all).length <= mostLanguages, `must be at most ${mostLanguages}`)
    .default({});
}

/** @param problemOf says, as a sentence of `@tessera/oauth`, why a URI is refused; undefined if it is not */
export function uri(problemOf: (uri: string) => string | undefined) {
  return z.string().superRefine((value, context) => {
    const problem = problemOf(value);
    if (problem === undefined) return;
    context.addIssue({
      code: 'custom',
      message: problem.replace(/^It must/, 'must').replace(/\.$/, ''),
    });
  });
}

/** A domain of e-mail addresses, in the form in which they are compared. */
export const emailDomain = z
  .string()
  .refine(
    (domain) => domainOfEmail(`x@${domain}`) === domain,
    'must be a domain in lower case, such as acme.example, with international labels as xn--bcher-kva.example',
  );

/** An address that is called: the rules of redirect URIs, http and https only. */
export const callbackUri = uri((value) =>
  /^https?:/.test(value) ? redirectUriProblem(value) : 'must be an https URL',
);

/** Seconds, as a whole number or a text such as `10m`; `longest` is in that form too. Without it 0. */
export function lifetime(longest: string, reason = '') {
  const malformed = 'must be a duration such as 30s, 10m, 12h or 30d, of at least one second';
  const seconds = z
    .number()
    .int(malformed)
    .positive(malformed)
    .max(parseDuration(longest) ?? 0, `must be at most ${longest}${reason}`);
  const text = z.string().regex(durationText, malformed).transform(parseDuration).pipe(seconds);
  return z.union([text, seconds], malformed).default(0);
}

const shorterForms = new WeakMap<object, z.ZodType>();

/** The schema of the text that may stand for a value of this schema, if one may. */
export function shorterFormOf(schema: object): z.ZodType | undefined {
  return shorterForms.get(schema);
}

/** A value for which a text may stand. */
export function orText<Schema extends z.ZodType>(
  text: z.ZodType,
  valueOf: (text: string) => unknown,
  schema: Schema,
) {
  const either = z.preprocess((value) => (typeof value === 'string' ? valueOf(value) : value), schema);
  shorterForms.set(either, text);
  return either;
}
