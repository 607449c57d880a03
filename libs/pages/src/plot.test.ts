import { expect, it } from 'vitest';
import { plotOf } from './plot.ts';

const counted = (values: readonly number[]) => values.map((value, time) => ({ time, value }));

it('draws a bar for each stretch of time, the highest as high as the plot', () => {
  const { bars, most, first, last } = plotOf('Sign-ins', counted([0, 10_000, 5000, 1]));
  expect(bars.map(({ height }) => height)).toEqual([0, 100, 50, 2]);
  expect(bars.map(({ y, height }) => y + height)).toEqual([100, 100, 100, 100]);
  expect(bars.map(({ x }) => x)).toEqual(bars.map(({ x }) => x).toSorted((one, other) => one - other));
  expect([most, first, last]).toEqual([10_000, 0, 3]);
});

it('stays inside, whatever it shows', () => {
  for (const count of [1, 7, 24, 100]) {
    const { bars } = plotOf('Sign-ins', counted(Array.from({ length: count }, (_, at) => at ** 3)));
    for (const { x, width, y, height } of bars)
      expect([x >= 0, x + width <= 100, y >= 0, y + height <= 100]).toEqual([true, true, true, true]);
  }
  expect(plotOf('Sign-ins', counted([0, 0])).bars.map(({ height }) => height)).toEqual([0, 0]);
});
