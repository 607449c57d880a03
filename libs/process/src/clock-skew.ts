import type { Clock } from '@tessera/kit';
import { CheckFailure } from './lifecycle.ts';
import type { Queryable } from '@tessera/stores';

/** Milliseconds by which the clock of a process may differ from the database's: tokens and families live by both. */
export const toleratedSkewMs = 5_000;

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
