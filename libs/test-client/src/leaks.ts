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
 * Digests of the random values of which any 12 characters stand in the text, plain, in base64 or URL-encoded. Of shorter
 * ones, such as user codes, the whole counts, in any case, and as people write it without its hyphen.
 */
export function leaks(text: string, values: Iterable<string>): string[] {
  const blocks = blocksOf(text);
  const lowered = text.toLowerCase();
  const found: string[] = [];
  for (const value of values) {
    const forms = [...new Set([value, Buffer.from(value).toString('base64'), encodeURIComponent(value)])];
    const short = value.length < fragment ? [value, value.replaceAll('-', '')] : [];
    if (
      forms.some((form) => hasFragment(text, blocks, form)) ||
      short.some((form) => lowered.includes(form.toLowerCase()))
    ) {
      found.push(createHash('sha256').update(value).digest('hex').slice(0, 8));
    }
  }
  return found;
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
