import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/test/sequencer.ts';
import { gatedSetUps, setUps, suitesElsewhere } from './scripts/test/set-ups.ts';

/** `npm run test:all` runs what `npm test` leaves out; CONTRIBUTING.md says what and why. */
const everything = process.env['TESSERA_TEST_ALL'] !== undefined;

/** Files that only `npm run test:all` runs. */
const outside = [
  '**/node_modules/**',
  ...(everything ? [] : ['**/*.thorough.test.ts']),
  // These need the programs of Kubernetes, which nothing here brings.
  ...(process.env['TESSERA_TEST_KUBERNETES'] === undefined ? ['**/*.kubernetes.test.ts'] : []),
];

/**
 * Files whose modules must be evaluated anew: they count what the process has counted, or set what a library reads
 * once.
 */
const needsItsOwn = '**/*.isolated.test.ts';

/** Files that load a system as much as it takes. */
const needsTheMachine = '**/*.alone.test.ts';

const others = [...outside, needsTheMachine];

/** More than there are cores: tests wait for stores, processes and time-outs more than they compute. */
const workers = availableParallelism() + 2;

/**
 * Milliseconds after which something hangs, however busy the machine is. What must be fast is measured where it
 * matters.
 */
const hangs = 900_000;

/** End-to-end tests start whole processes and wait for them most of the time. They come after the unit tests. */
const endToEnd = {
  testTimeout: hangs,
  hookTimeout: 2 * hangs,
  exclude: others,
  maxWorkers: workers,
  // As with the unit tests.
  isolate: false,
  sequence: { groupOrder: 1 },
} as const;

/** Load that a busy machine refuses, rightly: after all others. */
const alone = { ...endToEnd, exclude: outside, maxWorkers: 2, sequence: { groupOrder: 2 } } as const;

const suites = 'tools/e2e/src/suite/**/*.test.ts';

const elsewhere = (setUp: string): readonly string[] =>
  everything || suitesElsewhere[setUp] === undefined ? [] : [`**/${suitesElsewhere[setUp]}.test.ts`];

export default defineConfig({
  test: {
    reporters: ['default', './scripts/test/reporter.ts'],
    allowOnly: false,
    sequence: { sequencer: LongestFirst },
    expect: { poll: { timeout: 120_000, interval: 50 } },
    setupFiles: ['./libs/test-kit/src/each-file.ts'],
    globalSetup: ['./scripts/test/chromium.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'libs/**/*.test.ts',
            'apps/**/*.test.ts',
            'tools/**/*.test.ts',
            'scripts/**/*.test.ts',
            'deploy/image/shipped-files.test.ts',
            'deploy/helm/public-paths.test.ts',
            'deploy/helm/custom-resources.test.ts',
            'deploy/helm/values-schema.test.ts',
          ],
          exclude: [...outside, 'tools/e2e/src/suite/**', 'tools/e2e/src/single/**', needsItsOwn],
          testTimeout: hangs,
          hookTimeout: hangs,
          // They wait more than the others.
          maxWorkers: workers + 1,
          // A module is evaluated once per worker instead of once per file, which takes two thirds off the CPU of these
          // tests.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: [needsItsOwn],
          exclude: outside,
          testTimeout: hangs,
          hookTimeout: hangs,
          maxWorkers: workers + 1,
        },
      },
      ...setUps
        .filter((name) => everything || gatedSetUps.includes(name))
        .flatMap((name) =>
          [
            { ...endToEnd, name, include: [suites], exclude: [...others, ...elsewhere(name)] },
            { ...alone, name: `${name} alone`, include: [`tools/e2e/src/suite/${needsTheMachine}`] },
          ].map((test) => ({ extends: true as const, test: { ...test, env: { TESSERA_E2E_SETUP: name } } })),
        ),
      {
        extends: true,
        test: { ...endToEnd, name: 'single', include: ['tools/e2e/src/single/**/*.test.ts'] },
      },
      {
        extends: true,
        test: { ...alone, name: 'single alone', include: [`tools/e2e/src/single/${needsTheMachine}`] },
      },
    ],
  },
});
