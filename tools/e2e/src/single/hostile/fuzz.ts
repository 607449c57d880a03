import fc from 'fast-check';

/** Fixed, so that a run in CI means the same everywhere; longer runs choose their own. */
const usualSeed = 20_261_123;

/**
 * Checks `rounds` generated values. `TESSERA_TEST_FUZZ_SECONDS` runs for that long instead, from a new seed; the report
 * of a failure names the seed, which `TESSERA_TEST_FUZZ_SEED` repeats, and the smallest value that fails.
 */
export async function fuzz<T>(
  values: fc.Arbitrary<T>,
  rounds: number,
  check: (value: T) => Promise<void>,
): Promise<void> {
  const { TESSERA_TEST_FUZZ_SECONDS: seconds, TESSERA_TEST_FUZZ_SEED: seed } = process.env;
  const isLong = seconds !== undefined;
  await fc.assert(fc.asyncProperty(values, check), {
    seed: seed === undefined ? (isLong ? Date.now() % 2 ** 31 : usualSeed) : Number(seed),
    numRuns: isLong ? Number.MAX_SAFE_INTEGER : rounds,
    ...(isLong ? { interruptAfterTimeLimit: Number(seconds) * 1_000 } : {}),
  });
}

/** Texts that parsers, stores, templates and logs have stumbled over. */
const awkward: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\r\nSet-Cookie: a=b',
  '%',
  '%00',
  '%ff%fe',
  '%c0%ae%c0%ae/',
  '\ud800',
  '\udfff\ud800',
  '\ufeff',
  '\u202e',
  '\u3164',
  '\u{1f9ff}'.repeat(300),
  `a${'\u0315'.repeat(2_000)}${'\u0327'.repeat(2_000)}`,
  'ﷺ'.repeat(1_000),
  'İıſK',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'NaN',
  '1e999',
  '-0',
  '9'.repeat(400),
  '{"a":1}',
  '[',
  '"',
  "' OR 1=1 --",
  '; DROP TABLE x',
  '<script>alert(1)</script>',
  '<%= 7*7 %>',
  '${7*7}',
  '../../../../etc/passwd',
  'javascript:alert(1)',
  'http://127.0.0.1:9000/callback',
  'http://[::1]:80:80/',
  'data:,x',
  'openid  orders.read',
  'openid\torders.read',
  'x'.repeat(5_000),
  '😀='.repeat(40),
  'ti_' + 'A'.repeat(43),
  'tr_' + 'A'.repeat(80),
  'tc_' + '-'.repeat(43),
  'eyJhbGciOiJub25lIn0.e30.',
  'a.b.c',
  '..',
];

const texts = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...awkward) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
);

/** Any text, or one of `known` as it is or with one character changed, lost or doubled. */
export function textsLike(known: readonly string[]): fc.Arbitrary<string> {
  const changed = fc
    .tuple(fc.constantFrom(...known), fc.nat(), fc.constantFrom('flip', 'drop', 'double', 'cut', 'pad'))
    .map(([text, at, how]) => change(text, at % Math.max(1, text.length), how));
  return fc.oneof(texts, changed, fc.constantFrom(...known));
}

function change(text: string, at: number, how: string): string {
  const [before, one, after] = [text.slice(0, at), text.slice(at, at + 1), text.slice(at + 1)];
  if (how === 'flip') return `${before}${String.fromCodePoint((one.codePointAt(0) ?? 64) ^ 1)}${after}`;
  if (how === 'drop') return `${before}${after}`;
  if (how === 'double') return `${before}${one}${one}${after}`;
  return how === 'cut' ? before : `${text}=`;
}

/** Traces of a stack, of our source or of a library's error. */
const inside =
  /\n\s+at |node:internal|node_modules|file:\/\/|\.ts:\d|ECONN|\bsyntax error at\b|\bWRONGTYPE\b/;

/** What in an answer is for our eyes only; undefined if there is nothing. */
export function insideOf(text: string, secrets: readonly string[]): string | undefined {
  const found = inside.exec(text)?.[0] ?? secrets.find((secret) => text.includes(secret));
  return found === undefined ? undefined : `an answer contains ${JSON.stringify(found)}`;
}
