import { expect, test } from 'vitest';
import { RetryBudget } from './retry-budget.ts';

test('a peer that keeps failing is soon no longer retried', () => {
  const budget = new RetryBudget();
  const retried = Array.from({ length: 20 }, () => budget.failed());
  expect(retried.filter(Boolean)).toHaveLength(4);
  expect(retried.slice(4)).not.toContain(true);
});

test('good answers give the right to retry back, slowly', () => {
  const budget = new RetryBudget();
  for (let n = 0; n < 20; n += 1) budget.failed();
  for (let n = 0; n < 55; n += 1) budget.succeeded();
  expect(budget.failed()).toBe(false);
  for (let n = 0; n < 60; n += 1) budget.succeeded();
  expect(budget.failed()).toBe(true);
});

test('good answers are not saved up beyond the capacity', () => {
  const budget = new RetryBudget();
  for (let n = 0; n < 1_000; n += 1) budget.succeeded();
  const retried = Array.from({ length: 20 }, () => budget.failed());
  expect(retried.filter(Boolean)).toHaveLength(4);
});
