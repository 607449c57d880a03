/** Time as the process sees it, in milliseconds since the Unix epoch. Decisions about stored records use the database's. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Seconds since the Unix epoch, as JWT NumericDate (RFC 7519 §2). */
export function epochSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000);
}

let second = { at: -1, text: '' };

/** A moment in milliseconds since the Unix epoch as ISO 8601 in UTC; many of one second are asked for. */
export function isoTime(milliseconds: number): string {
  const at = Math.floor(milliseconds / 1000);
  if (second.at !== at) second = { at, text: new Date(at * 1000).toISOString().slice(0, -4) };
  return `${second.text}${String(Math.floor(milliseconds) - at * 1000).padStart(3, '0')}Z`;
}
