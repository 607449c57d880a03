/**
 * What every package stands on: clock, ids, secrets, time limits and a bounded cache. It knows no service and does no I/O.
 */
export { boundedCache, type BoundedCache } from './bounded-cache.ts';
export { epochSeconds, systemClock, type Clock } from './clock.ts';
export { opaqueValue, systemRandom, ulid, uuid, ulidTime, type Random } from './ids.ts';
export { normalizeStart } from './normalize.ts';
export { Secret } from './secret.ts';
export { TimeLimitError, within } from './within.ts';
