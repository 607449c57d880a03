import { expect, test } from 'vitest';
import { fakeClock } from './fake-clock.ts';

test('a fake clock stands still until it is moved', () => {
  const clock = fakeClock(1000);
  clock.advance(500);
  expect(clock.now()).toBe(1500);
  clock.set(7);
  expect(clock.now()).toBe(7);
});
