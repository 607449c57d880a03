import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanText, redacted } from './texts.ts';

const secrets = [
  'tr_0123456789abcdef',
  'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  'Bearer 0123456789abcdef',
  'basic dXNlcjpwYXNzd29yZA==',
  'DPoP   0123456789abcdef',
  'code=0123456789abcdef',
  '"client_secret" : "0123456789abcdef"',
];

describe('cleanText', () => {
  it('takes every shape of a secret out of a text, whatever stands around it', () => {
    const around = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => !/\w$/.test(text));
    fc.assert(
      fc.property(around, fc.constantFrom(...secrets), fc.string(), (before, secret, after) => {
        const cleaned = cleanText(`${before} ${secret} ${after}`);
        expect(cleaned).toContain(redacted);
        expect(cleaned).not.toMatch(/0123456789abcdef|c2lnbmF0dXJl|dXNlcjpwYXNzd29yZA/);
      }),
    );
  });

  it('takes the password out of a URL and keeps the rest', () => {
    expect(cleanText('redis://app:hunter2@redis:6379/0')).toBe(`redis://app:${redacted}@redis:6379/0`);
  });

  it('escapes every character that acts on a terminal or reorders text', () => {
    for (const character of '\u007f\u009b\u2028\u200f\u202e\u2067\ufeff') {
      const code = character.charCodeAt(0).toString(16).padStart(4, '0');
      expect(cleanText(`a${character}b`)).toBe(`a\\u${code}b`);
    }
  });

  it('leaves an ordinary text as it is', () => {
    const text = 'GET /device_authorization took 1.5 ms (attempt 2 of 3, 50 %)';
    expect(cleanText(text)).toBe(text);
  });
});
