import { randomBytes, randomFillSync } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Source of randomness, handed to whatever needs it. */
export interface Random {
  bytes(length: number): Buffer;
}

const pool = Buffer.alloc(4096);
let used = pool.length;

/**
 * From the system's generator, which is asked for many bytes at a time: asking costs more than the bytes. What was
 * handed out is wiped here, so that nothing in memory tells a value that was given to somebody.
 */
export const systemRandom: Random = {
  bytes(length) {
    if (length > pool.length) return randomBytes(length);
    if (used + length > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const bytes = Buffer.from(pool.subarray(used, used + length));
    pool.fill(0, used, used + length);
    used += length;
    return bytes;
  },
};

/**
 * An opaque value: a prefix and `bytes` random bytes (32 by default) in base64url. Each kind has a prefix of the form
 * `t<letter>_` of its own, which its service declares, so that one kind is never taken for another; the log redacts the form.
 */
export function opaqueValue(prefix: string, random: Random, bytes = 32): string {
  return prefix + random.bytes(bytes).toString('base64url');
}

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A ULID: 48 bits of milliseconds and 80 random bits, sortable by time. */
export function ulid(clock: Clock, random: Random): string {
  let tail = '';
  for (const byte of random.bytes(16)) tail += crockford.charAt(byte & 31);
  return timeOf(clock.now()) + tail;
}

/** What the ULIDs of a moment begin with, in milliseconds since the Unix epoch: earlier ones sort before it. */
export function ulidTime(at: number): string {
  return timeOf(Math.max(0, Math.floor(at)));
}

let latest = { at: -1, text: '' };

/** Ten characters; many ids are made in one millisecond. */
function timeOf(now: number): string {
  if (latest.at === now) return latest.text;
  let rest = now;
  let text = '';
  for (let i = 0; i < 10; i += 1) {
    text = crockford.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  latest = { at: now, text };
  return text;
}
