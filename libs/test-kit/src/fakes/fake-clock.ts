import type { Clock } from '@tessera/kit';

/** A clock that moves only on request. Starts at 2026-01-01T00:00:00Z by default. */
export interface FakeClock extends Clock {
  advance(ms: number): void;
  set(ms: number): void;
}

export function fakeClock(startMs: number = Date.UTC(2026, 0, 1)): FakeClock {
  let now = startMs;
  return {
    now: () => now,
    advance: (ms) => void (now += ms),
    set: (ms) => void (now = ms),
  };
}
