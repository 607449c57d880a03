import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OAuthError } from '@tessera/oauth';
import { parseForm } from './parse-form.ts';

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

  it('takes a resource that is sent twice with the same value for one, and refuses two (RFC 8707 §2)', () => {
    expect([...parseForm('resource=x&a=1&resource=x')]).toEqual([
      ['resource', 'x'],
      ['a', '1'],
    ]);
    expect(refused(() => parseForm('resource=x&resource=y'))).toMatch(/more than once/);
  });

  it.each(['a=%', 'a=%zz', '%=1', 'a=%ff', 'a=%ed%a0%80', 'a=%c0%af', 'a=%00'])('refuses %j', (text) => {
    refused(() => parseForm(text));
  });

  it('accepts 64 parameters and refuses more', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `p${index}=1`).join('&');
    expect(parseForm(many(64)).size).toBe(64);
    refused(() => parseForm(many(65)));
    refused(() => parseForm('&'.repeat(60_000)));
  });

  it('keeps a leading question mark as part of the name', () => {
    expect([...parseForm('?a=1')]).toEqual([['?a', '1']]);
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
