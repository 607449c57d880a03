import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';

/**
 * Not what is asked for: `etag` is another one when the request is repeated, and the others say how. The rest is of
 * messages.
 */
const apart: ReadonlySet<string> = new Set(['requestId', 'validateOnly', 'etag', '$typeName', '$unknown']);

/**
 * Keyed digest of what a create asks for, as it may hold a password. The order of keys makes no difference.
 * @param content fields of the request, with the record as JSON
 */
export function requestDigest(pepper: KeyObject, content: object): Buffer {
  const asked = Object.fromEntries(Object.entries(content).filter(([key]) => !apart.has(key)));
  const text = ['tessera.create_request.v1', JSON.stringify(asked, inOneForm)].join('\0');
  return createHmac('sha256', pepper).update(text).digest();
}

/** Whether two digests are of the same content. */
export function isSameContent(digest: Buffer, stored: Buffer): boolean {
  return digest.length === stored.length && timingSafeEqual(digest, stored);
}

function inOneForm(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).filter(([key]) => key !== '$typeName' && key !== '$unknown');
  return Object.fromEntries(entries.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}
