import { expect, test } from 'vitest';
import { normalizeStart } from './normalize.ts';

test('normalizes as far as the limit and drops the rest', () => {
  expect(normalizeStart('a\u0308b', 'NFC', 2)).toBe('\u00e4');
  expect(normalizeStart('\uff21b', 'NFKC', 10)).toBe('Ab');
});

test('takes no time that grows with the length of the text', () => {
  const marks = `a${'\u0315'.repeat(500_000)}${'\u0327'.repeat(500_000)}`;
  const started = process.cpuUsage();
  expect(normalizeStart(marks, 'NFC', 512)).toHaveLength(512);
  expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
});
