export const redacted = '[redacted]';

const maxText = 4000;
const opaquePrefixes = 't[a-z]_';
const secretNames = 'password|passphrase|secret|token|code|verifier|assertion|hint|auth_?req_?id|state|nonce';

/**
 * What a secret looks like inside a text: opaque values, JWTs, Authorization, credentials in URLs, named parameters.
 */
const secretShapes: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`\\b(?:${opaquePrefixes})[A-Za-z0-9_.-]{8,}`, 'g'), redacted],
  [/\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_.-]*/g, redacted],
  [/\b(Basic|Bearer|DPoP) +[A-Za-z0-9+/=._~-]{6,}/gi, `$1 ${redacted}`],
  [/:\/\/([^\s:/?#@]{0,200}):[^\s/?#]{0,2000}@/g, `://$1:${redacted}@`],
  [new RegExp(`(${secretNames})=[^\\s&"']+`, 'gi'), `$1=${redacted}`],
  [new RegExp(`(${secretNames})("\\s*:\\s*)"[^"]*"`, 'gi'), `$1$2"${redacted}"`],
];

/** Beyond what JSON escapes: DEL, C1 controls, line separators and marks that reorder text on a screen. */
const unprintable = /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/**
 * Holds for every text that one of the above may match. Most texts have nothing of the kind, and this one look costs a
 * tenth of trying all the shapes.
 */
const suspicious = new RegExp(
  `eyJ|://|[="]|(?:${opaquePrefixes})[A-Za-z0-9_.-]|(?:basic|bearer|dpop) |${unprintable.source}`,
  'i',
);

const pastedToken = new RegExp(
  `\\b(?:${opaquePrefixes})[A-Za-z0-9_-]{20,}|\\beyJ[A-Za-z0-9_-]{4,}\\.[A-Za-z0-9_.-]*`,
  'g',
);

/** A text in which tokens of ours that somebody pasted are no longer there. */
export function withoutTokens(value: string): string {
  return value.replace(pastedToken, redacted);
}

/** The first `count` characters of a text, and never half of one. */
export function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  const enough = text.slice(0, 2 * count);
  return [...enough].slice(0, count).join('');
}

/**
 * A text fit for one line of the log: bounded, no characters that act on a terminal, nothing that looks like a secret.
 */
export function cleanText(value: string): string {
  if (value.length <= maxText && !suspicious.test(value)) return value;
  let text =
    value.length > maxText ? `${value.slice(0, maxText)}[... ${value.length - maxText} more]` : value;
  for (const [shape, replacement] of secretShapes) text = text.replace(shape, replacement);
  return text.replace(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether the log or the audit would hide this value, or a part of it, as a secret of ours. */
export function readsAsSecret(value: string): boolean {
  return cleanText(value) !== value;
}
