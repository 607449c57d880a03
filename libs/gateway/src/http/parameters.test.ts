import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OAuthError } from '@tessera/oauth';
import { parseJson } from './parameters.ts';

const refused = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_request') return error.message;
    throw error;
  }
  throw new Error('was accepted');
};

describe('parseJson', () => {
  const known = new Set(['a', 'b', 'c', '__proto__', 'constructor', 'toString']);
  it('reads the known members of an object', () => {
    expect([...parseJson(' {"a":"1", "b" : "x\\"y\\\\", "c":""} ', known)]).toEqual([
      ['a', '1'],
      ['b', 'x"y\\'],
      ['c', ''],
    ]);
    expect(parseJson('{}', known).size).toBe(0);
  });

  it.each([
    '',
    '{',
    'null',
    '"a"',
    '1',
    '[]',
    '[{"a":"b"}]',
    '{"a":1}',
    '{"a":true}',
    '{"a":["b"]}',
    '{"a":{"b":"c"}}',
    '{"a":"b"} x',
    "{'a':'b'}",
    '{"a":"\\ud800"}',
    '{"a":"\\u0000"}',
    '\ufeff{"a":"b"}',
    `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
    `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
  ])('refuses %j', (text) => {
    refused(() => parseJson(text, known));
  });

  it.each([
    '{"a":"1","a":"2"}',
    '{"a":"1","a":"1"}',
    '{"a":"1","\\u0061":"2"}',
    '{"__proto__":"1","__proto__":"2"}',
  ])('refuses the repeated member in %j', (text) => {
    expect(refused(() => parseJson(text, known))).toMatch(/more than once/);
  });

  it('treats null as an absent member and ignores unknown members (RFC 6749 section 3.2)', () => {
    const text = '{"a":"1","b":null,"x":1,"y":{"a":"2","z":[{"a":"3"}]},"ipAddress":null}';
    expect([...parseJson(text, known)]).toEqual([['a', '1']]);
  });

  it('refuses a repeated unknown member', () => {
    expect(refused(() => parseJson('{"a":"1","x":{"n":1},"x":2}', known))).toMatch(/more than once/);
  });

  it('treats prototype names as plain names', () => {
    const parameters = parseJson('{"__proto__":"a","constructor":"b","toString":"c"}', known);
    expect([...parameters.keys()]).toEqual(['__proto__', 'constructor', 'toString']);
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });

  it('never repeats the body in a message', () => {
    expect(refused(() => parseJson('{"password":"hunter2" oops', known))).not.toContain('hunter2');
  });

  it('refuses too many members', () => {
    const many = Array.from({ length: 65 }, (_, index) => [`p${index}`, '']);
    refused(() => parseJson(JSON.stringify(Object.fromEntries(many)), known));
  });

  it('accepts 32 levels and refuses more', () => {
    const nested = (depth: number) => `{"x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    expect(parseJson(nested(32), known).size).toBe(0);
    for (const depth of [33, 30_000]) {
      expect(refused(() => parseJson(nested(depth), known))).toMatch(/nested too deeply/);
    }
  });

  it('reads back what JSON.stringify writes, whatever quotes and backslashes it holds', () => {
    const text = fc.string({ unit: fc.constantFrom('"', '\\', 'a', '{', ':', 'ä', '\n', '\u2028', '😀') });
    fc.assert(
      fc.property(fc.dictionary(text, text, { maxKeys: 20 }), (values) => {
        expect(parseJson(JSON.stringify(values), new Set(Object.keys(values)))).toEqual(
          new Map(Object.entries(values)),
        );
      }),
    );
  });

  it('accepts the same texts as JSON.parse (RFC 8259)', () => {
    fc.assert(fc.property(jsonLike, compareWithJsonParse), { numRuns: 5_000 });
    fc.assert(fc.property(mutatedJson, compareWithJsonParse), { numRuns: 2_000 });
  });

  it('refuses a repeated member at every depth, however its name is escaped', () => {
    fc.assert(
      fc.property(members, ({ text, repeated }) => {
        if (!repeated) return void parseJson(text, new Set());
        expect(refused(() => parseJson(text, new Set()))).toMatch(/more than once/);
      }),
    );
  });
});

/** Pieces of JSON, and pieces that lenient parsers take for JSON. */
const pieces = [
  String.raw`{ } [ ] : , "a": "b": "a":"x" "b":{} "\u0061" "__proto__": "\ud800" "\x" "\u12" " 'a' // /**/ / #`,
  '0 -0 01 - .5 1. 1.5 1e5 1E+5 1e 0x1 NaN Infinity true false null nul True undefined',
].flatMap((line) => line.split(' '));
const spaces = [' ', '\t', '\r\n', '//\n', '\f', '\v', '\u00a0', '\ufeff', '"\u0001"', '"\t"', '"\n"'];
const jsonLike = fc.array(fc.constantFrom(...pieces, ...spaces), { maxLength: 8 }).chain((parts) => {
  const text = parts.join('');
  return fc.constantFrom(text, `{${text}}`, `{"a":${text}}`, `{"c":[${text}]}`, `{"a":"1",${text}}`);
});

/** JSON with one piece replaced. */
const mutatedJson = fc
  .tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.nat(3), fc.string({ maxLength: 3, unit: 'binary' }))
  .map(([value, where, removed, inserted]) => {
    const text = `{"a":"1","c":${value}}`;
    const at = where % text.length;
    return text.slice(0, at) + inserted + text.slice(at + removed);
  });

const names = new Set(['a', 'b', '__proto__']);

/** Whether both parsers take a text for JSON, and whether they read the same from it. */
function compareWithJsonParse(text: string): void {
  const parsed = outcomeOf(() => JSON.parse(text) as unknown);
  const read = outcomeOf(() => parseJson(text, names));
  if ('error' in parsed) {
    expect(read).toHaveProperty('error');
  } else if ('error' in read) {
    expect(read.error).not.toMatch(/not valid JSON/);
  } else {
    const values = Object.entries(parsed.value as object);
    expect(read.value).toEqual(new Map(values.filter(([name, value]) => names.has(name) && value !== null)));
  }
}

function outcomeOf<T>(work: () => T): { readonly value: T } | { readonly error: string } {
  try {
    return { value: work() };
  } catch (error) {
    return { error: String(error) };
  }
}

interface Written {
  readonly text: string;
  /** Whether an object in it has two members of one name. */
  readonly repeated: boolean;
}

const name = fc.constantFrom('a', 'b', 'ä', '"', '\\', '__proto__', 'toString', '\ud800', '');

/** A name as it is, or with every code unit escaped. */
const writtenName = fc
  .tuple(name, fc.boolean())
  .map(([plain, escaped]) => ({ plain, text: escaped ? escapeAll(plain) : JSON.stringify(plain) }));

function escapeAll(text: string): string {
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
}

const { members } = fc.letrec<{ value: Written; members: Written; list: Written }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('1', 'null', '"a"').map((text) => ({ text, repeated: false })),
    tie('members'),
    tie('list'),
  ),
  members: fc.array(fc.tuple(writtenName, tie('value')), { maxLength: 3 }).map((pairs) => ({
    text: `{${pairs.map(([key, value]) => `${key.text}:${value.text}`).join(' , ')}}`,
    repeated:
      new Set(pairs.map(([key]) => key.plain)).size < pairs.length ||
      pairs.some(([, value]) => value.repeated),
  })),
  list: fc.array(tie('value'), { maxLength: 3 }).map((values) => ({
    text: `[${values.map(({ text }) => text).join(',')}]`,
    repeated: values.some(({ repeated }) => repeated),
  })),
}));
