import { createHash } from 'node:crypto';

const fragment = 12;

/** Every distinct substring of `fragment` characters in the text. */
function fragmentsOf(text: string): Set<string> {
  const words = new Set(text.match(/[\w\-+/=%.]{12,}/g) ?? []);
  const fragments = new Set<string>();
  for (const word of words) {
    for (let at = 0; at + fragment <= word.length; at += 1) fragments.add(word.slice(at, at + fragment));
  }
  return fragments;
}

/**
 * Digests of the random values of which any 12 characters stand in the text, plain, in base64 or URL-encoded. Of shorter
 * ones, such as user codes, the whole counts, in any case, and as people write it without its hyphen.
 */
export function leaks(text: string, values: Iterable<string>): string[] {
  const printed = fragmentsOf(text);
  const lowered = text.toLowerCase();
  const found: string[] = [];
  for (const value of values) {
    const forms = [value, Buffer.from(value).toString('base64'), encodeURIComponent(value)];
    const short = value.length < fragment ? [value, value.replaceAll('-', '')] : [];
    if (
      forms.some((form) => hasFragment(printed, form)) ||
      short.some((form) => lowered.includes(form.toLowerCase()))
    ) {
      found.push(createHash('sha256').update(value).digest('hex').slice(0, 8));
    }
  }
  return found;
}

function hasFragment(printed: ReadonlySet<string>, form: string): boolean {
  for (let at = 0; at + fragment <= form.length; at += 1) {
    if (printed.has(form.slice(at, at + fragment))) return true;
  }
  return false;
}
