import { describe, expect, test } from 'vitest';
import { isStorable, startOf } from './storable-text.ts';

test.each(['', 'ada', 'ü', '\u{1f600}', '\u0001\u007f\ufffd', '\ufeff'])('a store takes %j', (text) => {
  expect(isStorable(text)).toBe(true);
});

test.each(['\0', 'a\0b', '\ud800', 'a\udfff', '\udc00\ud800'])('no store takes %j', (text) => {
  expect(isStorable(text)).toBe(false);
});

describe('the start of a text', () => {
  test.each([
    ['abc', 2, 'ab'],
    ['abc', 3, 'abc'],
    ['abc', 9, 'abc'],
    ['', 3, ''],
    ['a\u{1f600}', 3, 'a\u{1f600}'],
    ['a\u{1f600}b', 3, 'a\u{1f600}'],
  ])('of %j has at most %i code units: %j', (text, longest, start) => {
    expect(startOf(text, longest)).toBe(start);
  });

  test('never ends with half of a character', () => {
    expect(startOf('a\u{1f600}b', 2)).toBe('a');
    expect(startOf('\u{1f600}', 1)).toBe('');
    expect(isStorable(startOf('\u{1f600}'.repeat(9), 7))).toBe(true);
  });
});
