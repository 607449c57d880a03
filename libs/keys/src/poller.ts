import type { Runtime } from '@tessera/process';

export interface Poller {
  /** Starts no further run; resolves when the current one has ended. */
  close(): Promise<void>;
}

/**
 * Runs `work` now and again `intervalMs` after each end. Logs the first failure and the recovery, not every failed run.
 */
export function startPoller(work: () => Promise<void>, intervalMs: number, log: Runtime['log']): Poller {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let failing = false;

  async function run(): Promise<void> {
    try {
      await work();
      if (failing) log.info('signing keys reloaded after a failure');
      failing = false;
    } catch (error) {
      if (!failing)
        log.error({ err: error }, 'cannot load the signing keys; continuing with those in memory');
      failing = true;
    }
    if (closed) return;
    timer = setTimeout(() => {
      running = run();
    }, intervalMs);
    timer.unref();
  }

  let running = run();
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
