import { setTimeout as pause } from 'node:timers/promises';

/** Work that is repeated until it is closed. */
export interface Repetition {
  /** Runs the work now, or once more right after the run under way. */
  soon(): void;
  /** Starts no further run, aborts the signal of the one under way, and resolves when it has ended. */
  close(): Promise<void>;
}

export interface RepeatOptions {
  /** Milliseconds from the end of a run to the next; `failures` counts the runs that have failed in a row. */
  readonly pauseMs: number | ((failures: number) => number);
  /** Whether the first run waits for a pause too. */
  readonly startsWithPause?: boolean;
  /** Called after each run that failed, unless by closing; `failures` is 1 for the first in a row. */
  readonly onError: (error: unknown, failures: number) => void;
  /** Called after the first run that succeeded again. */
  readonly onRecovery?: () => void;
}

/** Runs `work` now and again after a pause, never twice at once. Its pauses do not keep the process alive. */
export function repeat(
  work: (signal: AbortSignal) => Promise<unknown>,
  { pauseMs, startsWithPause = false, onError, onRecovery }: RepeatOptions,
): Repetition {
  const closing = new AbortController();
  const { signal } = closing;
  let wake = new AbortController();
  let failures = 0;

  async function runOnce(): Promise<void> {
    try {
      await work(signal);
      if (failures > 0) onRecovery?.();
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      onError(error, failures);
    }
  }

  async function rest(): Promise<void> {
    const milliseconds = typeof pauseMs === 'number' ? pauseMs : pauseMs(failures);
    await pause(milliseconds, undefined, { signal: wake.signal, ref: false }).catch(() => undefined);
  }

  async function run(): Promise<void> {
    if (startsWithPause) await rest();
    while (!signal.aborted) {
      // Renewed before the run: who calls `soon` during the run may be too late for it.
      wake = new AbortController();
      await runOnce();
      if (!signal.aborted) await rest();
    }
  }

  const running = run();
  return {
    soon: () => wake.abort(),
    async close() {
      closing.abort();
      wake.abort();
      await running;
    },
  };
}

/**
 * A pause that doubles with each failure up to `longestMs`; half of it is random, so that many processes do not come at
 * once.
 */
export function backOff(shortestMs: number, longestMs: number, failures: number): number {
  const longest = Math.min(longestMs, shortestMs * 2 ** Math.min(failures - 1, 10));
  return longest * (0.5 + Math.random() / 2);
}
