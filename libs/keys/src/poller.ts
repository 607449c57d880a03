import type { Kit } from '@tessera/process';

export interface Poller {
  /** No further run begins; resolves when the one under way has ended. */
  close(): Promise<void>;
}

/**
 * Runs `work` now and then again `intervalMs` after each end. Failures are logged when they begin and when they are
 * over, not at every run.
 */
export function startPoller(work: () => Promise<void>, intervalMs: number, log: Kit['log']): Poller {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let failing = false;

  async function run(): Promise<void> {
    try {
      await work();
      if (failing) log.info('the signing keys can be read again');
      failing = false;
    } catch (error) {
      if (!failing) log.error({ error }, 'the signing keys cannot be read; going on with those in memory');
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
