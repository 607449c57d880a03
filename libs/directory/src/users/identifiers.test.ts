import { describe, expect, it } from 'vitest';
import { identifiersOf, normalizeIdentifier } from './identifiers.ts';

describe('identifiers', () => {
  it('ignore case, surrounding space, Unicode composition and separators between digits', () => {
    expect(normalizeIdentifier(' Ada@Acme.Example ')).toBe('ada@acme.example');
    expect(normalizeIdentifier('cafe\u0301')).toBe('caf\u00e9');
    expect(normalizeIdentifier('+46 70-123 (45) 67')).toBe('+46701234567');
    expect(normalizeIdentifier('a-b c')).toBe('a-b c');
  });

  it('of a person are listed once each', () => {
    expect(
      identifiersOf({ username: 'Ada@acme.example', email: 'ada@acme.example', phoneNumber: '' }),
    ).toEqual(['ada@acme.example']);
  });
});
