import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findMutants } from './find-mutants.ts';
import { applyEdit, keyOf, type Mutant } from './mutant.ts';
import { formatSummary, summarize } from './report.ts';
import { runMutants } from './run-mutants.ts';

const path = 'scripts/mutation/fixture/limit.ts';
const source = readFileSync(join(import.meta.dirname, 'fixture/limit.ts'), 'utf8');

/** All mutants of a program, as programs. */
const mutate = (program: string) => findMutants('a.ts', program).map(({ edit }) => applyEdit(program, edit));

const testFixture = (mutants: readonly Mutant[], testsOf = () => 'scripts/mutation/fixture/') =>
  runMutants(
    {
      mutants,
      testsOf,
      jobs: 2,
      workers: 1,
      environment: process.env,
      graceSeconds: 5,
      say: () => undefined,
    },
    new AbortController().signal,
  );

it('the run tells a mutant that a test kills from one that survives, and ends one that hangs', async () => {
  const found = findMutants(path, source);
  expect(found.map(({ change }) => change)).toEqual(['count < limit → count <= limit']);
  const [survivor] = found;
  if (survivor === undefined) throw new Error('no mutant');
  const instead = (replacement: string) => ({
    ...survivor,
    change: replacement,
    edit: { start: source.indexOf('count < limit'), end: source.indexOf(';'), replacement },
  });
  const killed = instead('count > limit');
  const endless = instead('(() => { for (;;); })()');
  const results = await testFixture([killed, survivor, endless]);
  expect(results.map(({ outcome, remark }) => [outcome, remark])).toEqual([
    ['killed', 'scripts/mutation/fixture/limit.test.ts'],
    ['survived', 'no test failed'],
    ['timed out', 'ended at the time limit'],
  ]);

  const reason = 'The fixture is made so.';
  const outdated = { path, text: 'no such line', change: 'a → b', reason };
  const accepted = [{ ...survivor, reason }, { ...killed, reason }, outdated];
  const without = summarize(results, found, [], () => 'fixture');
  expect(without).toMatchObject({ rows: [{ mutants: 3, killed: 2, accepted: 0 }], outdated: [] });
  expect(without.score).toBeCloseTo(66.7, 1);
  expect(formatSummary(without)).toContain(`Survived: ${path}:3: count < limit → count <= limit`);
  const withAccepted = summarize(results, found, accepted, () => 'fixture');
  expect(withAccepted).toMatchObject({ score: 100, survivors: [] });
  expect(withAccepted.outdated.map(keyOf)).toEqual([keyOf(killed), keyOf(outdated)]);
});

it('a file that no test loads is reported as such', async () => {
  const elsewhere = 'scripts/mutation/areas.ts';
  const [mutant] = findMutants(elsewhere, readFileSync(join(import.meta.dirname, 'areas.ts'), 'utf8'));
  if (mutant === undefined) throw new Error('no mutant');
  expect(await testFixture([mutant])).toMatchObject([
    { outcome: 'survived', remark: 'no test loads the file' },
  ]);
});

it('a run without tests is refused', async () => {
  const mutants = findMutants(path, source);
  await expect(testFixture(mutants, () => 'scripts/no-such-folder/')).rejects.toThrow('No tests ran');
});

it('code is changed at comparisons, conditions, calls, booleans and limits', () => {
  expect(mutate('if (a <= b) f();')).toEqual([
    'if (true) f();',
    'if (false) f();',
    'if (a < b) f();',
    'if (a <= b) ;',
  ]);
  expect(mutate('const x = a === 1 && !b;')).toEqual([
    'const x = !b;',
    'const x = a === 1;',
    'const x = a !== 1 && !b;',
    'const x = a === 2 && !b;',
    'const x = a === 1 || !b;',
    'const x = a === 1 && b;',
  ]);
  expect(mutate('const most: 3 = 3; const on = { a: true };')).toEqual([
    'const most: 3 = 4; const on = { a: true };',
    'const most: 3 = 3; const on = { a: false };',
  ]);
  expect(mutate('import { a } from "b"; log.warn(1 < 2); runtime.failpoint("x");')).toEqual([]);
});

it('a statement of SQL stays valid: a condition becomes true, and an alternative false', () => {
  const change = (statement: string) =>
    mutate(`const s = \`${statement}\`;`).map((program) => program.slice(11, -2));
  const from = 'SELECT FROM t WHERE a = $1 AND (b OR c) AND d BETWEEN 1 AND 2';
  expect(change(from)).toEqual([
    'SELECT FROM t WHERE (a = $1 OR true) AND (b OR c) AND d BETWEEN 1 AND 2',
    'SELECT FROM t WHERE a = $1 AND ((b OR c) OR true) AND d BETWEEN 1 AND 2',
    'SELECT FROM t WHERE a = $1 AND ((b AND false) OR c) AND d BETWEEN 1 AND 2',
    'SELECT FROM t WHERE a = $1 AND (b OR (c AND false)) AND d BETWEEN 1 AND 2',
    'SELECT FROM t WHERE a = $1 AND (b OR c) AND (d BETWEEN 1 AND 2 OR true)',
  ]);
  expect(change("SELECT CASE WHEN x THEN 1 END FROM t WHERE ${f(' AND ')} FOR UPDATE")).toEqual([
    "SELECT CASE WHEN (x AND false) THEN 1 END FROM t WHERE ${f(' AND ')} FOR UPDATE",
    "SELECT CASE WHEN x THEN 1 END FROM t WHERE (${f(' AND ')} OR true) FOR UPDATE",
    "SELECT CASE WHEN x THEN 1 END FROM t WHERE ${f(' AND ')} ",
  ]);
  expect(change('INSERT INTO t VALUES (1) ON CONFLICT (a) DO NOTHING')).toEqual([
    'INSERT INTO t VALUES (1) ',
  ]);
  expect(change('DELETE FROM t WHERE until < clock_timestamp()')).toEqual([
    'DELETE FROM t WHERE (until < clock_timestamp() OR true)',
    'DELETE FROM t WHERE until >= clock_timestamp()',
  ]);
});

it('a Redis script is changed at its conditions and commands', () => {
  const script =
    "local n = redis.call('GET', KEYS[1])\nif n == 1 then return 2 end\nredis.call('DEL', KEYS[1])\n";
  const changed = mutate(`const s = \`${script}\`;`).map((program) =>
    program.split('\n').slice(1, 3).join('|'),
  );
  expect(changed).toEqual([
    "if true then return 2 end|redis.call('DEL', KEYS[1])",
    "if false then return 2 end|redis.call('DEL', KEYS[1])",
    "if n ~= 1 then return 2 end|redis.call('DEL', KEYS[1])",
    'if n == 1 then return 2 end|',
  ]);
});
