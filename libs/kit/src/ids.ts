import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Source of randomness, handed to whatever needs it. */
export interface Random {
  bytes(length: number): Buffer;
}

export const systemRandom: Random = { bytes: (length) => randomBytes(length) };

/**
 * Prefixes of opaque values. Each kind has its own, so that one is never taken for another.
 */
export const opaquePrefix = {
  code: 'tc_',
  refreshToken: 'tr_',
  deviceCode: 'td_',
  authReqId: 'ta_',
  session: 'ts_',
  browser: 'tb_',
  interaction: 'ti_',
} as const;

/** An opaque value: the prefix of its kind and `bytes` random bytes (32 by default) in base64url. */
export function opaqueValue(prefix: string, random: Random, bytes = 32): string {
  return prefix + random.bytes(bytes).toString('base64url');
}

const crockford = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A ULID: 48 bits of milliseconds and 80 random bits, sortable by time. */
export function ulid(clock: Clock, random: Random): string {
  let time = clock.now();
  let head = '';
  for (let i = 0; i < 10; i += 1) {
    head = crockford.charAt(time % 32) + head;
    time = Math.floor(time / 32);
  }
  let tail = '';
  for (const byte of random.bytes(16)) tail += crockford.charAt(byte & 31);
  return head + tail;
}
