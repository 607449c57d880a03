const pending: (() => Promise<unknown>)[] = [];

/** Runs `work` when the test file has ended; last registered, first run. May be called from tests and hooks. */
export function atEndOfFile(work: () => Promise<unknown>): void {
  pending.push(work);
}

/** Does what was registered since the last time. */
export async function cleanUp(): Promise<void> {
  const failures: unknown[] = [];
  for (let work = pending.pop(); work; work = pending.pop()) {
    try {
      await work();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'cleaning up after the test file failed');
}
