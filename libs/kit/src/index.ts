/**
 * What every package stands on: clock, ids, secrets, addresses, time limits and a bounded cache. It knows no service and does no I/O.
 */
export { parseAddresses, type Address } from './addresses.ts';
export { boundedCache, type BoundedCache } from './bounded-cache.ts';
export { epochSeconds, systemClock, type Clock } from './clock.ts';
export { opaqueValue, systemRandom, ulid, uuid, ulidTime, type Random } from './ids.ts';
export { normalizeStart } from './normalize.ts';
export { Secret } from './secret.ts';
export { SilenceTimer } from './silence-timer.ts';
export { TimeLimitError, unlessAborted, within } from './within.ts';
