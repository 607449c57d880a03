import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { limitRepeats } from './repeats.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open() {
  const lines: unknown[][] = [];
  const warnings = limitRepeats({ warn: (...line: unknown[]) => void lines.push(line) });
  return { lines, warnings };
}

it('logs the first warning of a cause at once, and the rest of a minute as one line with their number', () => {
  const { lines, warnings } = open();
  for (let index = 0; index < 1000; index += 1)
    warnings.warn('refused', { requestId: `r${index}` }, 'call refused');
  expect(lines).toEqual([[{ requestId: 'r0' }, 'call refused']]);
  vi.advanceTimersByTime(60_000);
  expect(lines.slice(1)).toEqual([[{ requestId: 'r999', repeated: 999 }, 'call refused']]);
});

it('logs one line a minute as long as a cause lasts, and the next one at once when it was over', () => {
  const { lines, warnings } = open();
  for (let minute = 0; minute < 3; minute += 1) {
    for (let index = 0; index < 10; index += 1) warnings.warn('refused', {}, 'call refused');
    vi.advanceTimersByTime(60_000);
  }
  expect(lines.map(([fields]) => fields)).toEqual([{}, { repeated: 9 }, { repeated: 10 }, { repeated: 10 }]);
  vi.advanceTimersByTime(60_000);
  warnings.warn('refused', {}, 'call refused');
  expect(lines).toHaveLength(5);
});

it('counts each cause by itself', () => {
  const { lines, warnings } = open();
  for (const cause of ['one', 'two', 'one']) warnings.warn(cause, { cause }, cause);
  expect(lines.map(([, message]) => message)).toEqual(['one', 'two']);
});

it('is bounded, however many causes there are', () => {
  const { lines, warnings } = open();
  for (let index = 0; index < 50_000; index += 1) warnings.warn(`cause ${index}`, {}, 'refused');
  expect(lines).toHaveLength(1001);
});
