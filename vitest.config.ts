import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/test/sequencer.ts';
import { setUps } from './scripts/test/set-ups.ts';

const outside = ['**/node_modules/**'];

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
    globalSetup: ['./scripts/test/chromium.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['libs/**/*.test.ts', 'apps/**/*.test.ts', 'tools/**/*.test.ts', 'scripts/**/*.test.ts'],
          exclude: [...outside, 'tools/e2e/src/suite/**', 'tools/e2e/src/single/**'],
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
