import { describe, expect, it } from 'vitest';
import { identifiersOf, normalizeIdentifier, storedForms } from './identifiers.ts';

describe('identifiers', () => {
  it('ignore case, surrounding space, Unicode composition and separators between digits', () => {
    expect(normalizeIdentifier(' Ada@Acme.Example ')).toBe('ada@acme.example');
    expect(normalizeIdentifier('cafe\u0301')).toBe('caf\u00e9');
    expect(normalizeIdentifier('+46 70-123 (45) 67')).toBe('+46701234567');
    expect(normalizeIdentifier('a-b c')).toBe('a-b c');
  });

  it('have the domain of an e-mail address in one form, and are found in the one of before (RFC 5890)', () => {
    for (const spelling of ['Ada@Bücher.example', 'ada@xn--bcher-kva.example'])
      expect(normalizeIdentifier(spelling)).toBe('ada@xn--bcher-kva.example');
    expect(storedForms('ada@xn--bcher-kva.example')).toEqual([
      'ada@xn--bcher-kva.example',
      'ada@bücher.example',
    ]);
    expect(storedForms('ada@acme.example')).toEqual(['ada@acme.example']);
    expect(storedForms('xn--ada')).toEqual(['xn--ada']);
    expect(normalizeIdentifier('ä@[Acme]')).toBe('ä@[acme]');
  });

  it('of a person are listed once each', () => {
    expect(
      identifiersOf({ username: 'Ada@acme.example', email: 'ada@acme.example', phoneNumber: '' }),
    ).toEqual(['ada@acme.example']);
  });
});
