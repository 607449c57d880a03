import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Mutant } from './mutant.ts';

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
const root = join(import.meta.dirname, '../..');

/** What `vitest.config.ts` reads. */
export interface TestTask {
  /** Undefined: the sources as they are. */
  readonly mutant: Pick<Mutant, 'path' | 'edit'> | undefined;
  /** Test files that failed for other changes of the file. */
  readonly noticed: readonly string[];
  /** Milliseconds that each test file takes without a mutant. */
  readonly durations: Durations;
  /** File for the outcome. */
  readonly result: string;
}

export type Durations = Readonly<Record<string, number>>;

/** What `vitest.config.ts` writes. */
export interface TestOutcome {
  /** Test files with a failed test, or that could not be loaded. */
  readonly failed: readonly string[];
  /** Milliseconds of each test file that ran. */
  readonly durations: Durations;
  /** Whether a test loaded the changed file. */
  readonly loaded: boolean;
}

export interface TestRun {
  /** Undefined: ended at the time limit. */
  readonly outcome: TestOutcome | undefined;
  readonly seconds: number;
}

export interface TestPlan extends Omit<TestTask, 'result'> {
  /** Folder or file of tests, from the root. */
  readonly tests: string;
  readonly limitSeconds: number;
  readonly workers: number;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Runs tests on a mutant, until the first failure, or all of them on the unchanged sources. Throws if vitest does not
 * run.
 */
export async function runTests(plan: TestPlan, interrupted: AbortSignal): Promise<TestRun> {
  const folder = await mkdtemp(join(tmpdir(), 'mutant-'));
  try {
    const { mutant, noticed, durations } = plan;
    const task: TestTask = { mutant, noticed, durations, result: join(folder, 'outcome.json') };
    await writeFile(join(folder, 'task.json'), JSON.stringify(task));
    const started = performance.now();
    const { ended, output } = await runVitest(plan, join(folder, 'task.json'), interrupted);
    const seconds = (performance.now() - started) / 1000;
    if (!ended) return { outcome: undefined, seconds };
    const outcome = await readFile(task.result, 'utf8').catch(() => {
      throw new Error(`vitest did not run the tests of ${plan.tests}:\n${output}`);
    });
    return { outcome: JSON.parse(outcome) as TestOutcome, seconds };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** `ended` is false if the time limit ended the run. */
function runVitest(
  plan: TestPlan,
  task: string,
  interrupted: AbortSignal,
): Promise<{ ended: boolean; output: string }> {
  const options = [
    '--config',
    join(import.meta.dirname, 'vitest.config.ts'),
    '--maxWorkers',
    `${plan.workers}`,
  ];
  const bail = plan.mutant === undefined ? [] : ['--bail', '1'];
  const child = spawn(process.execPath, [vitest, 'run', ...options, ...bail, plan.tests], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...plan.environment, TESSERA_MUTATION: task, NO_COLOR: '1' },
    // A group of its own: a worker in an endless loop outlives vitest unless the group is killed.
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-10_000)));
  let ended = true;
  const kill = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
  const limit = setTimeout(() => {
    ended = false;
    kill();
  }, plan.limitSeconds * 1000);
  interrupted.addEventListener('abort', kill);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => {
      clearTimeout(limit);
      interrupted.removeEventListener('abort', kill);
      if (interrupted.aborted) reject(new Error('interrupted'));
      else resolve({ ended, output });
    });
  });
}
