import { createHash } from 'node:crypto';

const fragment = 12;
/** Each fragment contains one block of this length that starts at a multiple of `step` in its word. */
const block = 7;
const step = fragment - block + 1;

/** The blocks of the words in the text: few enough to hold all of them. */
function blocksOf(text: string): Set<string> {
  const words = new Set(text.match(/[\w\-+/=%.]{12,}/g) ?? []);
  const blocks = new Set<string>();
  for (const word of words) {
    for (let at = 0; at + block <= word.length; at += step) blocks.add(word.slice(at, at + block));
  }
  return blocks;
}

/**
 * Digests of the random values of which any 12 characters stand in the text, plain, in base64 or URL-encoded. Of
 * shorter ones, such as user codes, the whole counts, in any case, and as people write it without its hyphen.
 */
export function leaks(text: string, values: Iterable<string>): string[] {
  const blocks = blocksOf(text);
  const all = [...values];
  const short = shortIn(text, all.flatMap(shortForms));
  const found = all.filter((value) => {
    const forms = new Set([value, Buffer.from(value).toString('base64'), encodeURIComponent(value)]);
    return (
      [...forms].some((form) => hasFragment(text, blocks, form)) ||
      shortForms(value).some((form) => short.has(form))
    );
  });
  return found.map((value) => createHash('sha256').update(value).digest('hex').slice(0, 8));
}

const shortForms = (value: string): string[] =>
  value.length < fragment ? [value, value.replaceAll('-', '')].map((form) => form.toLowerCase()) : [];

/** Those that stand in the text. Almost always none does, which one search for all of them tells. */
function shortIn(text: string, forms: readonly string[]): ReadonlySet<string> {
  const lowered = text.toLowerCase();
  const any = new RegExp(forms.map((form) => form.replaceAll(/\W/g, '\\$&')).join('|'));
  if (forms.length === 0 || !any.test(lowered)) return new Set();
  return new Set(forms.filter((form) => lowered.includes(form)));
}

function hasFragment(text: string, blocks: ReadonlySet<string>, form: string): boolean {
  for (let at = 0; at + block <= form.length; at += 1) {
    if (blocks.has(form.slice(at, at + block)) && hasFragmentAround(text, form, at)) return true;
  }
  return false;
}

/** Whether one of the fragments that contain the block at this place stands in the text. */
function hasFragmentAround(text: string, form: string, at: number): boolean {
  const first = Math.max(0, at - step + 1);
  const last = Math.min(at, form.length - fragment);
  for (let start = first; start <= last; start += 1) {
    if (text.includes(form.slice(start, start + fragment))) return true;
  }
  return false;
}
