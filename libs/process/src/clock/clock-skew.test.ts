import { fakeClock, testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { requireSameTime } from './clock-watch.ts';

const postgres = await testDatabase();
const embedded = await testEmbeddedDatabase();

const clockOff = (milliseconds: number) => ({ now: () => Date.now() + milliseconds });

describe.each([
  ['Postgres', postgres],
  ['PGlite', embedded],
])('the clock of a process compared with that of %s (F14)', (_name, database) => {
  it.each([0, 3_000, -3_000])('may be off by %d ms', async (milliseconds) => {
    await requireSameTime(database, clockOff(milliseconds));
  });

  it.each([
    [10_400, '10 s ahead of'],
    [-10_400, '10 s behind'],
    [120_400, '120 s ahead of'],
    [-120_400, '120 s behind'],
  ])('is refused when it is off by %d ms, with what to change', async (milliseconds, how) => {
    await expect(requireSameTime(database, clockOff(milliseconds))).rejects.toMatchObject({
      word: 'clock_skew',
      message: `The clock of this machine is ${how} the database's. Synchronise the clocks of both with NTP.`,
    });
  });
});

describe('a slow answer', () => {
  /** The time passes while the database is asked: the answer was read somewhere within it. */
  function slowly(roundTripMs: number, offMs: number) {
    const clock = fakeClock(Date.now() + offMs);
    const database: typeof postgres = {
      ...postgres,
      query: async (statement) => {
        const result = await postgres.query<never>(statement);
        clock.advance(roundTripMs);
        return result;
      },
    };
    return requireSameTime(database, clock);
  }

  it('proves no skew that its round trip may explain', async () => {
    await slowly(30_000, 0);
    await slowly(30_000, -30_000);
  });

  it('hides none beyond it', async () => {
    await expect(slowly(30_000, 10_400)).rejects.toThrow('10 s ahead');
    await expect(slowly(30_000, -40_000)).rejects.toThrow('10 s behind');
  });
});
