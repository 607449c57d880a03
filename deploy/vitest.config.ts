import { defineConfig } from 'vitest/config';

/** `npm run test:deploy`: apart from `npm test`, as it assembles the image and needs tools that not every machine has. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    reporters: ['default', '../scripts/test/reporter.ts'],
    allowOnly: false,
    include: ['**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});
