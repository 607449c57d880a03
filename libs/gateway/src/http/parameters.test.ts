import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OAuthError } from '@tessera/oauth';
import { parseForm, parseJson } from './parameters.ts';

const refused = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_request') return error.message;
    throw error;
  }
  throw new Error('was accepted');
};

describe('parseForm', () => {
  it('reads names and values', () => {
    expect([...parseForm('a=1&b=%C3%A4+b&c&d=&&e=x=y')]).toEqual([
      ['a', '1'],
      ['b', 'ä b'],
      ['c', ''],
      ['d', ''],
      ['e', 'x=y'],
    ]);
  });

  it.each(['a=1&a=1', 'a=1&b=2&a=', '%61=1&a=2'])(
    'refuses the repeated parameter in %j (RFC 6749 §3.2)',
    (text) => {
      expect(refused(() => parseForm(text))).toMatch(/more than once/);
    },
  );

  it.each(['a=%', 'a=%zz', '%=1', 'a=%ff', 'a=%ed%a0%80', 'a=%c0%af', 'a=%00'])('refuses %j', (text) => {
    refused(() => parseForm(text));
  });

  it('takes 64 parameters and refuses more', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `p${index}=1`).join('&');
    expect(parseForm(many(64)).size).toBe(64);
    refused(() => parseForm(many(65)));
    refused(() => parseForm('&'.repeat(60_000)));
  });

  it('reads back what URLSearchParams writes', () => {
    const safe = fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '').toWellFormed());
    fc.assert(
      fc.property(fc.dictionary(safe, safe, { maxKeys: 20 }), (values) => {
        expect(parseForm(new URLSearchParams(values).toString())).toEqual(new Map(Object.entries(values)));
      }),
    );
  });
});

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

  it('takes null for a member that is left out, and ignores members of other names (RFC 6749 section 3.2)', () => {
    const text = '{"a":"1","b":null,"x":1,"y":{"a":"2","z":[{"a":"3"}]},"ipAddress":null}';
    expect([...parseJson(text, known)]).toEqual([['a', '1']]);
  });

  it('refuses a repeated member of another name too', () => {
    expect(refused(() => parseJson('{"a":"1","x":{"n":1},"x":2}', known))).toMatch(/more than once/);
  });

  it('keeps names of prototypes as plain names', () => {
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

  it('reads back what JSON.stringify writes, whatever quotes and backslashes it holds', () => {
    const name = fc.string({ unit: fc.constantFrom('"', 'a', '{', ':', 'ä', '\n') });
    const value = fc.string({ unit: fc.constantFrom('"', '\\', 'a', '{', ':', 'ä', '\n') });
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 20 }), (values) => {
        expect(parseJson(JSON.stringify(values), new Set(Object.keys(values)))).toEqual(
          new Map(Object.entries(values)),
        );
      }),
    );
  });

  // Not in the property above: V8 14 takes an escaped name for one of an earlier object that begins with the same backslash.
  it('reads a name with a backslash', () => {
    expect([...parseJson('{"a\\\\":"1"}', new Set(['a\\']))]).toEqual([['a\\', '1']]);
  });
});
