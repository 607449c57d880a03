import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/test/sequencer.ts';
import { setUps } from './scripts/test/set-ups.ts';

const outside = ['**/node_modules/**'];

/** Files whose modules must be evaluated anew: they count what the process has counted, or set what a library reads once. */
const needsItsOwn = '**/*.isolated.test.ts';

/** Vitest's own default leaves a machine of two cores one. */
const workers = Math.max(2, availableParallelism() - 1);

/** Milliseconds after which something hangs, however busy the machine is. What must be fast is measured where it matters. */
const hangs = 300_000;

/** End-to-end tests start whole processes, and wait for them more than they compute. They come after the unit tests. */
const endToEnd = {
  testTimeout: hangs,
  hookTimeout: 2 * hangs,
  exclude: outside,
  maxWorkers: workers + 1,
  sequence: { groupOrder: 1 },
} as const;

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
          include: ['libs/**/*.test.ts', 'apps/**/*.test.ts', 'tools/**/*.test.ts', 'scripts/**/*.test.ts'],
          exclude: [...outside, 'tools/e2e/src/suite/**', 'tools/e2e/src/single/**', needsItsOwn],
          testTimeout: hangs,
          hookTimeout: hangs,
          maxWorkers: workers,
          // A module is evaluated once per worker instead of once per file, which takes two thirds off the CPU of these tests.
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
          maxWorkers: workers,
        },
      },
      ...setUps.map((name) => ({
        extends: true as const,
        test: {
          ...endToEnd,
          name,
          include: ['tools/e2e/src/suite/**/*.test.ts'],
          env: { TESSERA_E2E_SETUP: name },
        },
      })),
      {
        extends: true,
        test: {
          ...endToEnd,
          name: 'single',
          include: ['tools/e2e/src/single/**/*.test.ts'],
        },
      },
    ],
  },
});
