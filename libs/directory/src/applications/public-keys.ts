import { isStorable } from '@tessera/kit';
import { assertionAlgorithms } from '@tessera/oauth';

/** What is kept of a key that somebody else publishes (RFC 7517 §4); all of it is text. */
const members = ['kty', 'n', 'e', 'crv', 'x', 'y', 'kid', 'alg', 'use'] as const;
export type Jwk = Readonly<Partial<Record<(typeof members)[number], string>>>;

/** The number of an RSA key of 4,096 bits has 683 characters. */
const longestMember = 1_000;
const rsaBits = { least: 2_048, most: 4_096 };
const mostExponentBytes = 4;
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** Of a key from elsewhere, what is kept; undefined if that is no text of usual length. */
export function keptOf(key: unknown): Jwk | undefined {
  if (typeof key !== 'object' || key === null) return undefined;
  const own = members.filter((name) => Object.hasOwn(key, name));
  const kept = own.map((name) => [name, (key as Readonly<Record<string, unknown>>)[name]] as const);
  return kept.every(([, value]) => isMember(value)) ? Object.fromEntries(kept) : undefined;
}

/** Whether verifying with a key costs no more than usual: that of a large RSA key takes many times as long. */
export function isOfUsualLength({ kty, n = '', e = '' }: Jwk): boolean {
  if (kty !== 'RSA') return true;
  const bits = bitsOf(n);
  return bits >= rsaBits.least && bits <= rsaBits.most && Math.ceil(bitsOf(e) / 8) <= mostExponentBytes;
}

/** What is wrong with a public key for signatures that an application declares; undefined if nothing. */
export function publicKeyProblem(key: Readonly<Record<string, unknown>>): string | undefined {
  if (privateMembers.some((name) => Object.hasOwn(key, name)))
    return 'must be a public key, without secret members';
  const kept = keptOf(key);
  if (kept === undefined || Object.keys(kept).length < Object.keys(key).length)
    return `must have no members but the texts ${members.join(', ')}`;
  const { kty, n, e, x, use = 'sig', alg } = kept;
  if (kty === 'RSA' ? n === undefined || e === undefined : kty !== 'EC' || x === undefined)
    return 'must be a JWK with kty RSA or EC';
  if (!isOfUsualLength(kept))
    return `must have at least ${rsaBits.least} bits and at most ${rsaBits.most}, and an e of at most 4 bytes`;
  if (use !== 'sig') return 'must have the use sig';
  if (alg !== undefined && !assertionAlgorithms.some((name) => name === alg))
    return `must have an alg of ${assertionAlgorithms.join(', ')}`;
  return undefined;
}

function isMember(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= longestMember && isStorable(value);
}

function bitsOf(number: string): number {
  const bytes = Buffer.from(number, 'base64url');
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? 0 : (bytes.length - first) * 8 - (Math.clz32(bytes[first] ?? 0) - 24);
}
