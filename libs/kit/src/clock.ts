/**
 * Time as the process sees it, in milliseconds since the Unix epoch. Decisions about stored records use the database's.
 */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Seconds since the Unix epoch, as JWT NumericDate (RFC 7519 §2). */
export function epochSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000);
}
