import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { type Random, type Secret } from '@tessera/kit';
import type { GrantKind } from '../pending-grant.ts';

/** The client that a value is issued to. */
interface Holder {
  readonly tenantId: string;
  readonly clientId: string;
}

/** The values that clients poll with: device_code (RFC 8628) and auth_req_id (CIBA Core). */
export interface PollSecrets {
  /** Creates a value with 256 random bits. */
  create(kind: GrantKind, holder: Holder): string;
  /** Whether a value has the form of this kind; anything else is not looked up. */
  hasShape(kind: GrantKind, value: string): boolean;
  /**
   * Whether the MAC of a value proves that it was issued to this client, whatever the stores remember. False without a
   * MAC, or if the MAC was made with another key.
   */
  wasIssued(kind: GrantKind, value: string, holder: Holder): boolean;
}

const prefixOf: Readonly<Record<GrantKind, string>> = {
  device_code: 'td_',
  auth_req_id: 'ta_',
};

const randomLength = 32;
const macLength = 16;

/** Without and with a MAC: 32 and 48 bytes in base64url. */
const shapeOf = (kind: GrantKind): RegExp =>
  new RegExp(`^${prefixOf[kind]}[A-Za-z0-9_-]{43}(?:[A-Za-z0-9_-]{21})?$`);
const shapes: Readonly<Record<GrantKind, RegExp>> = {
  device_code: shapeOf('device_code'),
  auth_req_id: shapeOf('auth_req_id'),
};

/**
 * A value is the prefix of its kind and the base64url of 32 random bytes. With a key, the first 16 bytes of an
 * HMAC-SHA256 over kind, tenant, client and the random bytes follow.
 */
export function createPollSecrets(secret: Secret | undefined, random: Random): PollSecrets {
  const key = secret && createSecretKey(Buffer.from(secret.reveal(), 'utf8'));

  function macOf(kind: GrantKind, { tenantId, clientId }: Holder, bytes: Buffer): Buffer {
    if (key === undefined) return Buffer.alloc(0);
    const about = `${kind}\0${tenantId}\0${clientId}\0`;
    return createHmac('sha256', key).update(about).update(bytes).digest().subarray(0, macLength);
  }

  return {
    create(kind, holder) {
      const bytes = random.bytes(randomLength);
      return prefixOf[kind] + Buffer.concat([bytes, macOf(kind, holder, bytes)]).toString('base64url');
    },
    hasShape: (kind, value) => shapes[kind].test(value),
    wasIssued(kind, value, holder) {
      const bytes = Buffer.from(value.slice(prefixOf[kind].length), 'base64url');
      const mac = bytes.subarray(randomLength);
      const expected = macOf(kind, holder, bytes.subarray(0, randomLength));
      return mac.length === macLength && mac.length === expected.length && timingSafeEqual(mac, expected);
    },
  };
}
