import { basename } from 'node:path';
import type { TestProject } from 'vitest/node';
import { provideChromium } from '../../libs/test-kit/src/provision/provide-chromium.ts';

/** Before the first test: a Chromium, when browser tests are going to run. */
export default function setup(project: TestProject): void {
  const browserTests = project.vitest.state
    .getPaths()
    .filter((path) => /(^|\.)browser\.test\.ts$/.test(basename(path)));
  if (browserTests.length > 0) process.stdout.write(`Chromium: ${provideChromium()}\n`);
}
