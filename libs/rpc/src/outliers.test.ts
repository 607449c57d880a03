import { expect, test } from 'vitest';
import { outliersOf } from './outliers.ts';

const fine = { good: 1_000, bad: 5 };

test('a replica that fails far more often than the others is an outlier', () => {
  expect(outliersOf([fine, { good: 100, bad: 60 }, fine])).toEqual([1]);
  expect(outliersOf([{ good: 0, bad: 100 }, fine])).toEqual([0]);
  expect(outliersOf([fine, fine, { good: 1, bad: 99 }, fine, { good: 0, bad: 300 }])).toEqual([2, 4]);
});

test('a replica that fails a little more often is none', () => {
  expect(outliersOf([fine, { good: 80, bad: 20 }, fine])).toEqual([]);
});

test('what all replicas answer badly makes none of them an outlier', () => {
  const flooded = { good: 100, bad: 900 };
  expect(outliersOf([flooded, flooded, flooded])).toEqual([]);
  expect(outliersOf([{ good: 0, bad: 900 }])).toEqual([]);
});

test('a few calls say nothing, neither of their replica nor of what is usual', () => {
  expect(outliersOf([fine, { good: 0, bad: 49 }])).toEqual([]);
  expect(
    outliersOf([
      { good: 49, bad: 0 },
      { good: 0, bad: 100 },
    ]),
  ).toEqual([]);
  expect(outliersOf([])).toEqual([]);
});
