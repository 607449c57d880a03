import { basename } from 'node:path';
import type { TestProject } from 'vitest/node';
import {
  installHeadlessShell,
  provideChromium,
  provideWholeChromium,
} from '../../libs/test-kit/src/provision/provide-chromium.ts';

/**
 * Before the first test: a Chromium, when browser tests are going to run, and a whole one for those that see its
 * windows.
 */
export default function setup(project: TestProject): void {
  const browserTests = project.vitest.state
    .getPaths()
    .filter((path) => /(^|\.)browser\.test\.ts$/.test(basename(path)));
  if (browserTests.length === 0) return;
  installHeadlessShell();
  process.stdout.write(`Chromium: ${provideChromium()}, ${provideWholeChromium()}\n`);
}
