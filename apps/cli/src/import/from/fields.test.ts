import { expect, it } from 'vitest';
import { pathOf } from './fields.ts';

it('a key is in what its parts say, but a very long one is one name', () => {
  expect(pathOf('a.b.c')).toEqual(['a.b.c', 'a.b', 'a']);
  const longest = `${'a.'.repeat(255)}aa`;
  expect(pathOf(longest)).toHaveLength(256);
  for (const long of [`${longest}a`, '.'.repeat(100_000)]) expect(pathOf(long)).toEqual([long]);
});
