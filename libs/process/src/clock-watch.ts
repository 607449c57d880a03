import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '@tessera/kit';
import { temporarilyUnavailable } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import type { Logger } from '@tessera/telemetry';
import { requireSameTime, toleratedSkewMs } from './clock-skew.ts';
import { CheckFailure } from './lifecycle.ts';

/** Between two comparisons: the longest that a step of the database's clock goes unnoticed. */
const intervalMs = 5_000;
const retryMs = 500;

export interface ClockWatchOptions {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Compares the clock of the process with the database's for as long as the process runs. */
export function watchClock({ database, clock, log }: ClockWatchOptions) {
  const closing = new AbortController();
  const { signal } = closing;
  /** The process's clock beside the monotonic one when the clocks last agreed; undefined before that, and after a step. */
  let agreedAt: number | undefined;
  let difference: CheckFailure | undefined;
  let comparing: Promise<void> | undefined;

  const beside = (): number => clock.now() - performance.now();

  async function compare(): Promise<void> {
    // Taken before the question: a step while it is answered must not pass as a slow answer.
    const asked = beside();
    try {
      await requireSameTime(database, clock);
    } catch (error) {
      if (error instanceof CheckFailure) {
        if (difference === undefined) log.error({ error }, 'the clocks differ; no tokens are issued');
        agreedAt = undefined;
        difference = error;
      }
      // A database that is away says nothing about the clock: the last comparison stands.
      throw difference ?? error;
    }
    if (difference !== undefined) log.info('the clocks agree again');
    difference = undefined;
    agreedAt = asked;
  }

  /** Compares the clocks now. @throws CheckFailure while they differ, or what the database threw */
  const check = (): Promise<void> => (comparing ??= compare().finally(() => (comparing = undefined)));
  const refresh = (): Promise<void> => check().catch(() => undefined);

  async function repeat(): Promise<void> {
    while (!signal.aborted) {
      await refresh();
      const delay = agreedAt === undefined ? retryMs : intervalMs;
      await pause(delay, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  const repeating = repeat();
  return {
    check,
    /** @throws OAuthError `temporarily_unavailable` unless the clocks agreed and this process's clock has not stepped since */
    requireAgreement(): void {
      if (agreedAt !== undefined && Math.abs(beside() - agreedAt) > toleratedSkewMs) {
        agreedAt = undefined;
        log.warn("this machine's clock has stepped; comparing it with the database's");
        void refresh();
      }
      if (agreedAt === undefined) throw temporarilyUnavailable();
    },
    /** Ends the comparisons. */
    async close(): Promise<void> {
      closing.abort();
      await repeating;
    },
  };
}
