import { repeat, type Clock } from '@tessera/kit';
import { temporarilyUnavailable } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import type { Logger } from '@tessera/telemetry';
import { CheckFailure } from '../lifecycle.ts';

/** Milliseconds by which the clock of a process may differ from the database's: tokens and families live by both. */
const toleratedSkewMs = 5_000;

/**
 * Asks the database for its time, in one statement.
 * @throws CheckFailure when the clock is further from it than is tolerated, wherever within the round trip it was read.
 */
export async function requireSameTime(database: Queryable, clock: Clock): Promise<void> {
  const asked = clock.now();
  const { rows } = await database.query<{ now: number }>({
    name: 'kit.time',
    text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
  });
  const answered = clock.now();
  const theirs = rows[0]?.now ?? NaN;
  const ahead = asked - theirs;
  const behind = theirs - answered;
  const skew = Math.max(ahead, behind);
  if (skew <= toleratedSkewMs) return;
  const direction = ahead > behind ? 'ahead of' : 'behind';
  throw new CheckFailure(
    'clock_skew',
    `The clock of this machine is ${Math.round(skew / 1000)} s ${direction} the database's. ` +
      'Synchronise the clocks of both with NTP.',
  );
}

/** Between two comparisons: the longest that a step of the database's clock goes unnoticed. */
const intervalMs = 5_000;
const retryMs = 500;

export interface ClockWatchDeps {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Compares the clock of the process with the database's for as long as the process runs. */
export function watchClock({ database, clock, log }: ClockWatchDeps) {
  /**
   * The process's clock minus the monotonic one when the clocks last agreed; undefined before that, and after a step.
   */
  let agreedAt: number | undefined;
  let difference: CheckFailure | undefined;
  let comparing: Promise<void> | undefined;

  const offset = (): number => clock.now() - performance.now();

  async function compare(): Promise<void> {
    // Taken before the question: a step while it is answered must not pass as a slow answer.
    const asked = offset();
    try {
      await requireSameTime(database, clock);
    } catch (error) {
      if (error instanceof CheckFailure) {
        if (difference === undefined)
          log.error({ err: error }, "clock differs from the database's; refusing calls");
        agreedAt = undefined;
        difference = error;
      }
      // An unavailable database says nothing about the clock: the last comparison stands.
      throw difference ?? error;
    }
    if (difference !== undefined) log.info("clock agrees with the database's again");
    difference = undefined;
    agreedAt = asked;
  }

  /** Compares the clocks now. @throws CheckFailure while they differ, or what the database threw */
  const check = (): Promise<void> => (comparing ??= compare().finally(() => (comparing = undefined)));
  const comparisons = repeat(check, {
    pauseMs: () => (agreedAt === undefined ? retryMs : intervalMs),
    // `compare` has reported it.
    onError: () => undefined,
  });

  return {
    check,
    /**
     * @throws OAuthError `temporarily_unavailable` unless the clocks agreed and this process's clock has not stepped
     * since
     */
    requireAgreement(): void {
      if (agreedAt !== undefined && Math.abs(offset() - agreedAt) > toleratedSkewMs) {
        agreedAt = undefined;
        log.warn("this machine's clock has stepped; comparing it with the database's");
        comparisons.soon();
      }
      if (agreedAt === undefined) throw temporarilyUnavailable();
    },
    /** Ends the comparisons. */
    close: () => comparisons.close(),
  };
}
