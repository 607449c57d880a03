import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { difference, totals } from './load.ts';
import { linesHaving } from './logs.ts';
import { tableOf } from './run.ts';

test('The lines of the logs that name an unexpected answer come with the names of their pods', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-logs-'));
  try {
    writeFileSync(join(directory, 'gateway-1.log'), 'one id-1\ntwo id-2\n');
    writeFileSync(join(directory, 'token-1.log'), 'three id-1\n');
    // The clients repeat their last unexpected answers every second.
    writeFileSync(join(directory, 'load.log'), '{"unexpected":["refresh 503 id-1"]}\n'.repeat(2));
    expect(linesHaving(directory, ['id-1', ''])).toEqual(['gateway-1: one id-1', 'token-1: three id-1']);
    expect(linesHaving(directory, [''])).toEqual([]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('The counts of a scenario are those since its beginning, by operation and answer', () => {
  const before = { refresh: { ok: 10, 503: 1 }, introspection: { ok: 4 } };
  const after = { refresh: { ok: 15, 503: 3, ECONNRESET: 1 }, introspection: { ok: 4 } };
  const since = difference(before, after);
  expect(since).toEqual({ refresh: { ok: 5, 503: 2, ECONNRESET: 1 } });
  expect(totals(since)).toEqual({ all: 8, errors: 3, unexpected: 'refresh 503: 2, refresh ECONNRESET: 1' });
});

test('The table has one line for each scenario and only the first line of a failure', () => {
  const row = { topology: 'split', scenario: 'restore', requests: 812, errors: 9, seconds: 70 } as const;
  const table = tableOf([{ ...row, outcome: 'FAILED', remark: 'why\nand more' }]);
  expect(table.split('\n')).toHaveLength(2);
  expect(table).toMatch(/split +restore +FAILED +812 +9 +70 +why$/);
});
