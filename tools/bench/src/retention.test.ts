import { expect, it } from 'vitest';
import { growing } from './retention.ts';

it('finds the tables that still grow in the last third of the samples', () => {
  const sizes = new Map([
    ['flat', [0, 900, 2000, 1400, 2100, 1500, 2000, 1400, 2150]],
    ['steady', [0, 500, 1000, 1500, 2000, 2500, 3000, 3500, 4000]],
    ['small', [1, 1, 1, 1, 1, 2, 2, 3, 4]],
  ]);
  expect(growing(sizes)).toEqual(['steady']);
});
