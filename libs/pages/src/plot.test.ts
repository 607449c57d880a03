import { expect, it } from 'vitest';
import { plotOf, timeLineOf } from './plot.ts';

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

it('draws states one after the other on one line of time, so that each can be seen', () => {
  const { lines, first, last } = timeLineOf([
    {
      name: 'old',
      parts: [
        { state: 'active', from: 0, until: 500 },
        { state: 'retired', from: 500, until: 1000 },
      ],
    },
    { name: 'new', parts: [{ state: 'published', from: 999, until: 1000 }] },
  ]);
  expect([first, last]).toEqual([0, 1000]);
  expect(lines.map(({ parts }) => parts)).toEqual([
    [
      { state: 'active', x: 0, width: 50 },
      { state: 'retired', x: 50, width: 50 },
    ],
    [{ state: 'published', x: 99, width: 1 }],
  ]);
  expect(
    timeLineOf([{ name: 'one', parts: [{ state: 'active', from: 5, until: 5 }] }]).lines[0]?.parts,
  ).toEqual([{ state: 'active', x: 0, width: 1 }]);
});
