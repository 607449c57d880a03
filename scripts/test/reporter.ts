import type { Reporter, TestCase, TestModule, TestRunEndReason, TestSpecification } from 'vitest/node';
import type { SerializedError } from 'vitest';
import { setUps } from './set-ups.ts';

/**
 * Says on which set-ups the end-to-end suite runs, fails a run in which a test was skipped, and ends with the line
 * `N passed, N failed`.
 */
export default class PlainReporter implements Reporter {
  /** True when the caller asked for some tests by name or line: those left out are then not skipped. */
  #selected = false;
  #running: readonly string[] = [];

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    const projects = new Set(specifications.map((specification) => specification.project.name));
    this.#running = setUps.filter((name) => projects.has(name));
    this.#sayRunning();
    this.#selected = specifications.some(
      (specification) =>
        specification.testLines !== undefined ||
        specification.project.vitest.config.testNamePattern !== undefined,
    );
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    const count = countTests(modules, this.#selected);
    const skipped = this.#selected ? [] : count.skipped;
    for (const name of skipped) process.stdout.write(`Skipped, which counts as failed: ${name}\n`);
    const failed = count.failed + skipped.length + unhandledErrors.length;
    if (failed > 0 || reason !== 'passed') process.exitCode = 1;
    this.#sayRunning();
    process.stdout.write(`\n${count.passed} passed, ${failed} failed\n`);
  }

  #sayRunning(): void {
    if (this.#running.length > 0) process.stdout.write(`End-to-end set-ups: ${this.#running.join(', ')}\n`);
  }
}

function countTests(
  modules: readonly TestModule[],
  selected: boolean,
): { passed: number; failed: number; skipped: string[] } {
  let passed = 0;
  let failed = 0;
  const skipped: string[] = [];
  for (const module of modules) {
    const before = failed;
    const moduleFailed = module.state() === 'failed';
    for (const test of module.children.allTests()) {
      const state = test.result().state;
      if (state === 'passed') passed += 1;
      // Tests behind a hook that failed are reported as skipped, though they are not marked so.
      else if (state === 'failed' || (moduleFailed && !selected)) failed += 1;
      else skipped.push(describe(test));
    }
    // A file that cannot be loaded has no failed test to count.
    if (moduleFailed && failed === before) failed += 1;
    if (module.state() === 'skipped' && module.children.size === 0) skipped.push(module.relativeModuleId);
  }
  return { passed, failed, skipped };
}

const describe = (test: TestCase) => `${test.module.relativeModuleId} > ${test.fullName}`;
