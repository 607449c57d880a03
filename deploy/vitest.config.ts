import { defineConfig } from 'vitest/config';

/**
 * `npm run test:deploy`: apart from `npm test`, as it assembles the image and needs tools that not every machine has.
 */
/** Left out where `npm run test:deploy` could not provide its tools, which it says. */
const has = (...tools: readonly string[]) => tools.every((name) => process.env[`TESSERA_TEST_${name}`]);
const exclude = [
  ...(has('HELM', 'KUBECONFORM', 'PROMTOOL', 'SCHEMAS') ? [] : ['helm/**']),
  ...(has('HELM', 'ORAS', 'BUILDAH', 'REGISTRY') ? [] : ['image/release.test.ts']),
];

export default defineConfig({
  test: {
    root: import.meta.dirname,
    reporters: ['default', '../scripts/test/reporter.ts'],
    allowOnly: false,
    setupFiles: ['../libs/test-kit/src/each-file.ts'],
    include: ['**/*.test.ts'],
    exclude,
    testTimeout: 60_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});
