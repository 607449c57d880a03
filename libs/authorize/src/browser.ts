import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { CallContext } from '@tessera/kit';

/** The person's browser as the gateway describes it, and the call that came from it. */
export interface Browser {
  /** Value of the pre-session cookie. */
  readonly browserId: string;
  /** Value of the session cookie; empty when there is none. */
  readonly sessionToken: string;
  readonly ipAddress: string;
  readonly userAgentHash: string;
  /** Issuer the browser sees, for `iss` and the tokens. */
  readonly issuer: string;
}

/** One request of a browser on its way through this service. */
export interface Visit {
  readonly browser: Browser;
  readonly call: CallContext;
}

/** Hexadecimal SHA-256, the form in which opaque values are keys of short-lived stores. */
export function digest(value: string): string {
  return hash('sha256', value, 'hex');
}

/**
 * The key under which attempts from an address are counted. An IPv6 network of 64 bits counts as one address, because
 * that is what one subscriber gets; an IPv4 address written as IPv6 counts as itself.
 */
export function addressKey(ipAddress: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ipAddress);
  if (mapped?.[1] !== undefined) return mapped[1];
  const [bare = ''] = ipAddress.split('%');
  if (!isIPv6(bare)) return ipAddress;
  const [head = '', tail] = bare.toLowerCase().split('::');
  const leading = head === '' ? [] : head.split(':');
  const trailing = tail === undefined || tail === '' ? [] : tail.split(':');
  // An embedded IPv4 part stands for two groups; it never reaches the first four of them.
  const written = leading.length + trailing.length + (bare.includes('.') ? 1 : 0);
  const zeros = tail === undefined ? 0 : 8 - written;
  const groups = [...leading, ...Array.from({ length: zeros }, () => '0'), ...trailing];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
