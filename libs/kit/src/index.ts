/**
 * What every package stands on: clock, ids, secrets, addresses, time limits a bounded cache and repeated work. It knows
 * no service and does no I/O.
 *
 *     clock ─> ids (ULID: time and randomness)          within ─> TimeLimitError, unlessAborted
 *     secret   a value that no log prints               silence-timer   a silent peer, on a late process too
 *     addresses, domain-of-email, normalize, nearest, url-options, is-decodable, storable-text, without-schemas   typed       bounded-cache   the least used goes
 *     repeat ─> noted-later   what is written off the path of a request
 *     repeat ─> follow-stream   a stream that is opened again when it ends or a silence-timer rings
 */
export { parseAddresses, type Address } from './addresses.ts';
export { boundedCache, type BoundedCache } from './bounded-cache.ts';
export { callTimeLeft, inCall, isInCall, type CallTime } from './call-time.ts';
export { epochSeconds, systemClock, type Clock } from './clock.ts';
export { opaqueValue, systemRandom, ulid, uuid, ulidTime, type Random } from './ids.ts';
export { domainOfEmail, withAsciiDomain } from './text/domain-of-email.ts';
export { followStream } from './follow-stream.ts';
export { isDecodable } from './text/is-decodable.ts';
export { nearest } from './text/nearest.ts';
export { normalizeStart } from './text/normalize.ts';
export { NotedLater } from './noted-later.ts';
export { repeat, type Repetition } from './repeat.ts';
export { Secret } from './secret.ts';
export { SilenceTimer } from './silence-timer.ts';
export { isStorable, startOf } from './text/storable-text.ts';
export { shownOption } from './url-options.ts';
export { TimeLimitError, unlessAborted, within } from './within.ts';
export { withoutSchemas } from './without-schemas.ts';
