import { afterAll } from 'vitest';

const pending: (() => Promise<unknown>)[] = [];

// Registered while the test file is collected, so it stands first and, hooks ending in reverse order, runs last:
// after the file's own hooks have stopped what still uses the stores.
afterAll(async () => {
  const failures: unknown[] = [];
  for (let work = pending.pop(); work; work = pending.pop()) {
    try {
      await work();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'cleaning up after the test file failed');
});

/** Runs `work` when the test file has ended; last registered, first run. May be called from tests and hooks. */
export function atEndOfFile(work: () => Promise<unknown>): void {
  pending.push(work);
}
