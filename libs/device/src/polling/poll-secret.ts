import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { type Random, type Secret } from '@tessera/kit';
import type { GrantKind } from '../store/store.ts';

/** The client a value is given to. */
interface Holder {
  readonly tenantId: string;
  readonly clientId: string;
}

/** The values that clients poll with: device_code and auth_req_id. */
export interface PollSecrets {
  /** A new one, with 256 random bits. */
  create(kind: GrantKind, holder: Holder): string;
  /** Whether a value may be one of this kind; nothing else is worth a look. */
  hasShape(kind: GrantKind, value: string): boolean;
  /**
   * Whether a value carries the mark of one that was given to this client, whatever any store remembers of it. False where
   * it has no mark, or one under another key.
   */
  wasGiven(kind: GrantKind, value: string, holder: Holder): boolean;
}

const prefixOf: Readonly<Record<GrantKind, string>> = {
  device_code: 'td_',
  auth_req_id: 'ta_',
};

const randomLength = 32;
const markLength = 16;

/** Without and with a mark: 32 and 48 bytes in base64url. */
const shapeOf = (kind: GrantKind): RegExp =>
  new RegExp(`^${prefixOf[kind]}[A-Za-z0-9_-]{43}(?:[A-Za-z0-9_-]{21})?$`);
const shapes: Readonly<Record<GrantKind, RegExp>> = {
  device_code: shapeOf('device_code'),
  auth_req_id: shapeOf('auth_req_id'),
};

/**
 * A value is the prefix of its kind and the base64url of 32 random bytes; where there is a key, the first 16 bytes of an
 * HMAC-SHA256 over kind, tenant, client and these bytes follow them.
 */
export function createPollSecrets(secret: Secret | undefined, random: Random): PollSecrets {
  const key = secret && createSecretKey(Buffer.from(secret.reveal(), 'utf8'));

  function markOf(kind: GrantKind, { tenantId, clientId }: Holder, bytes: Buffer): Buffer {
    if (key === undefined) return Buffer.alloc(0);
    const about = `${kind}\0${tenantId}\0${clientId}\0`;
    return createHmac('sha256', key).update(about).update(bytes).digest().subarray(0, markLength);
  }

  return {
    create(kind, holder) {
      const bytes = random.bytes(randomLength);
      return prefixOf[kind] + Buffer.concat([bytes, markOf(kind, holder, bytes)]).toString('base64url');
    },
    hasShape: (kind, value) => shapes[kind].test(value),
    wasGiven(kind, value, holder) {
      const bytes = Buffer.from(value.slice(prefixOf[kind].length), 'base64url');
      const mark = bytes.subarray(randomLength);
      const expected = markOf(kind, holder, bytes.subarray(0, randomLength));
      return mark.length === markLength && mark.length === expected.length && timingSafeEqual(mark, expected);
    },
  };
}
