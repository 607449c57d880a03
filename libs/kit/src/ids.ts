import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Source of randomness, handed to whatever needs it. */
export interface Random {
  bytes(length: number): Buffer;
}

/** The random numbers of the operating system. */
export const systemRandom: Random = { bytes: randomBytes };

/**
 * An opaque value: a prefix and `bytes` random bytes (32 by default) in base64url. Each kind has a prefix of the form
 * `t<letter>_` of its own, which its service declares, so that one kind is never taken for another; the log redacts the
 * form.
 */
export function opaqueValue(prefix: string, random: Random, bytes = 32): string {
  return prefix + random.bytes(bytes).toString('base64url');
}

/** A random UUID (RFC 9562 §5.4), for identifiers that are no secrets: Node draws the randomness of many at once. */
export const uuid = (): string => randomUUID();

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A ULID: 48 bits of milliseconds and 80 random bits, sortable by time. */
export function ulid(clock: Clock, random: Random): string {
  let tail = '';
  for (const byte of drawnFrom(random)) tail += crockford.charAt(byte & 31);
  return timeOf(clock.now()) + tail;
}

const ulidBytes = 16;
/** ULIDs are no secrets: the randomness of many is drawn at once, as one draw costs more than the rest of a ULID. */
const drawnAtOnce = 64 * ulidBytes;
const drawn = new WeakMap<Random, { readonly bytes: Buffer; used: number }>();

function drawnFrom(random: Random): Buffer {
  let pool = drawn.get(random);
  if (pool === undefined || pool.used === drawnAtOnce) {
    pool = { bytes: random.bytes(drawnAtOnce), used: 0 };
    drawn.set(random, pool);
  }
  return pool.bytes.subarray(pool.used, (pool.used += ulidBytes));
}

/** What the ULIDs of a moment begin with, in milliseconds since the Unix epoch: earlier ones sort before it. */
export function ulidTime(at: number): string {
  return timeOf(Math.max(0, Math.floor(at)));
}

/** Ten characters for milliseconds since the Unix epoch. */
function timeOf(milliseconds: number): string {
  let rest = milliseconds;
  let text = '';
  for (let i = 0; i < 10; i += 1) {
    text = crockford.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
