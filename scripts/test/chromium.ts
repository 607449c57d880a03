import { basename } from 'node:path';
import type { TestProject } from 'vitest/node';
import { installChromiumMeanwhile } from '../../libs/test-kit/src/provision/provide-chromium.ts';

/**
 * Before the first test, when browser tests are going to run: installs a Chromium where there is none, and a whole one
 * for those that see its windows. Tests without a browser do not wait for it.
 */
export default function setup(project: TestProject): (() => Promise<void>) | undefined {
  const browserTests = project.vitest.state
    .getPaths()
    .filter((path) => /(^|\.)browser(\.thorough)?\.test\.ts$/.test(basename(path)));
  if (browserTests.length === 0) return undefined;
  const installed = installChromiumMeanwhile();
  return () => installed;
}
