/**
 * The tests on one mutant: modules load as always, except the changed one. Files are not written, so several runs can
 * share a tree.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';
import type { Reporter, TestModule, TestSequencer, TestSpecification, Vitest } from 'vitest/node';
import { applyEdit } from './mutant.ts';
import type { TestOutcome, TestTask } from './run-tests.ts';

const root = join(import.meta.dirname, '../..');
const task = JSON.parse(readFileSync(process.env['TESSERA_MUTATION'] ?? '', 'utf8')) as TestTask;
const { mutant } = task;
let loaded = false;

const isChanged = (id: string): boolean => mutant !== undefined && id === join(root, mutant.path);

const changeModule: Plugin = {
  name: 'mutant',
  enforce: 'pre',
  // Transformed modules are cached from run to run.
  configureVitest: ({ defineCacheKeyGenerator }) =>
    defineCacheKeyGenerator(({ id }) => (isChanged(id) ? false : undefined)),
  load(id) {
    if (mutant === undefined || !isChanged(id)) return undefined;
    loaded = true;
    return applyEdit(readFileSync(id, 'utf8'), mutant.edit);
  },
};

/**
 * Puts the tests that most probably fail first: those that noticed other changes of the file, then the nearest and the
 * shortest.
 */
class NearestFirst implements TestSequencer {
  readonly #context: Vitest;

  constructor(context: Vitest) {
    this.#context = context;
  }

  shard(files: TestSpecification[]): TestSpecification[] {
    return files;
  }

  sort(files: TestSpecification[]): TestSpecification[] {
    const order = ({ moduleId }: TestSpecification) => {
      const test = relative(this.#context.config.root, moduleId);
      return [task.noticed.indexOf(test) === -1 ? 1 : 0, distance(test), task.durations[test] ?? 0] as const;
    };
    return files.toSorted((a, b) => {
      const [ofA, ofB] = [order(a), order(b)];
      return ofA[0] - ofB[0] || ofA[1] - ofB[1] || ofA[2] - ofB[2];
    });
  }
}

/** Of a test from the changed file: the test of that file, its neighbours, the others. */
function distance(test: string): number {
  if (mutant === undefined) return 0;
  const stem = (path: string) => basename(path).split('.')[0];
  if (dirname(test) !== dirname(mutant.path)) return 2;
  return stem(test) === stem(mutant.path) ? 0 : 1;
}

/** A file that the first failure stopped may not count as failed itself. */
const hasFailed = (module: TestModule): boolean =>
  module.state() === 'failed' || !module.children.allTests('failed').next().done;

const report: Reporter = {
  onTestRunEnd(modules: readonly TestModule[], _errors, reason): void {
    const failed = modules.filter(hasFailed).map(({ relativeModuleId }) => relativeModuleId);
    const outcome: TestOutcome = {
      // An error outside the tests fails the run as well.
      failed: reason === 'passed' || failed.length > 0 ? failed : ['the run'],
      durations: Object.fromEntries(
        modules.map((module) => [module.relativeModuleId, Math.round(module.diagnostic().duration)]),
      ),
      loaded,
    };
    writeFileSync(task.result, JSON.stringify(outcome));
  },
};

/** Whatever waits longer is ended by the limit of the whole run. */
const never = 3_600_000;

export default defineConfig({
  root,
  plugins: [changeModule],
  test: {
    include: ['libs/**/*.test.ts', 'scripts/mutation/fixture/*.test.ts'],
    reporters: [report, ...(mutant === undefined ? ['default'] : [])],
    testTimeout: never,
    hookTimeout: never,
    expect: { poll: { timeout: 30_000, interval: 50 } },
    sequence: { sequencer: NearestFirst },
    setupFiles: ['libs/test-kit/src/each-file.ts'],
  },
});
