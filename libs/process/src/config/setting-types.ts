import { z } from 'zod';
import { Secret } from '@tessera/kit';

const unitSeconds: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };

/** Texts that `parseDuration` reads. */
export const durationText = /^\s*(\d{1,9})(ms|s|m|h|d)\s*$/;

/** Seconds of a text such as `250ms`, `30s`, `10m`, `12h`, `30d`; undefined if it is none. */
export function parseDuration(text: string): number | undefined {
  const match = durationText.exec(text);
  const unit = unitSeconds[match?.[2] ?? ''];
  return match?.[1] === undefined || unit === undefined ? undefined : (Number(match[1]) * 1000 * unit) / 1000;
}

/** A value that is never printed. `minLength` counts characters. */
export function secret(minLength = 1) {
  return z
    .string()
    .min(minLength, `expected at least ${minLength} characters`)
    .transform((value) => new Secret(value));
}

interface DurationBounds {
  readonly min?: string;
  readonly max?: string;
  /** Clients see it in a field without fractions, such as `expires_in`. */
  readonly wholeSeconds?: boolean;
}

/** Seconds, given as `250ms`, `30s`, `10m`, `12h` or `30d`, optionally within bounds of the same form. */
export function duration(defaultText: string, bounds: DurationBounds = {}) {
  const min = bounds.min === undefined ? 0 : (parseDuration(bounds.min) ?? 0);
  const max = bounds.max === undefined ? Infinity : (parseDuration(bounds.max) ?? Infinity);
  return z
    .string()
    .transform((value, context) => {
      const seconds = parseDuration(value);
      if (seconds === undefined) return refuse(context, 'expected a duration such as 30s, 10m, 12h or 30d');
      if (seconds < min) return refuse(context, `expected at least ${bounds.min ?? ''}`);
      if (seconds > max) return refuse(context, `expected at most ${bounds.max ?? ''}`);
      if (bounds.wholeSeconds && !Number.isInteger(seconds)) {
        return refuse(context, 'expected whole seconds, without a fraction, such as 2s');
      }
      return seconds;
    })
    .prefault(defaultText);
}

/** `true` or `false` (also `1`, `0`, `yes`, `no`, `on`, `off`). */
export function flag(defaultValue: boolean) {
  const words = { truthy: ['true', '1', 'yes', 'on'], falsy: ['false', '0', 'no', 'off'] };
  const type = z.stringbool({ ...words, error: 'expected true or false' });
  return z.string().trim().pipe(type).prefault(String(defaultValue));
}

function wholeNumber(min: number, max: number, what: string) {
  return z.string().transform((value, context) => {
    const number = /^\d{1,15}$/.test(value.trim()) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    return refuse(context, `expected ${what} from ${min} to ${max}`);
  });
}

/** A whole number within bounds. */
export function integer(defaultValue: number, bounds: { readonly min?: number; readonly max?: number } = {}) {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = bounds;
  return wholeNumber(min, max, 'a whole number').prefault(String(defaultValue));
}

/** A TCP port; 0 lets the system choose. */
export function port(defaultValue: number) {
  return wholeNumber(0, 65_535, 'a port number').prefault(String(defaultValue));
}

/** A TCP port that may be left out. */
export function optionalPort() {
  return wholeNumber(0, 65_535, 'a port number').optional();
}

/** Comma-separated entries without surrounding space; empty entries are dropped. */
export function list(defaultValue: readonly string[] = []) {
  return z
    .string()
    .transform((value) =>
      value
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    )
    .prefault(defaultValue.join(','));
}

/** Comma-separated entries, each one of the named values; none by default. */
export function choices<const V extends readonly [string, ...string[]]>(values: V) {
  return list().pipe(z.array(z.enum(values, { error: `expected some of ${values.join(', ')}` })));
}

/** A DNS name or SPIFFE trust domain, in lower case. */
export function domainName() {
  return z.string().regex(/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/, {
    error: 'expected a domain such as tessera.example, in lower case',
  });
}

/** One of the named values. */
export function choice<const V extends readonly [string, ...string[]]>(values: V, defaultValue: V[number]) {
  return z.enum(values, { error: `expected one of ${values.join(', ')}` }).prefault(defaultValue);
}

/** A secret in a form of its own. `parse` throws an Error whose message says what is expected, without the value. */
export function secretIn(parse: (value: string) => unknown) {
  return textIn(parse).transform((value) => new Secret(value));
}

/** A text in a form of its own, kept as it was written. `parse` is as that of `secretIn`. */
export function textIn(parse: (value: string) => unknown) {
  return z.string().transform((value, context) => {
    try {
      parse(value);
    } catch (error) {
      return refuse(context, error instanceof Error ? error.message : 'expected another form');
    }
    return value;
  });
}

function refuse(context: z.core.$RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}
