import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createResolveName, type ResolveName } from './resolve-name.ts';

/** All IPv6 addresses that IANA has allocated to hosts. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/**
 * Whether an IP address belongs to a public host. Private, local, documentation, benchmarking, multicast and reserved
 * networks are not public (IANA special-purpose registry, RFC 6890), nor are addresses that lead to another one:
 * IPv4-mapped, NAT64, 6to4, Teredo.
 */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address).range() === 'unicast';
  if (!ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.IPv6.parse(address);
  return parsed.zoneId === undefined && parsed.range() === 'unicast' && parsed.match(globalUnicast);
}

/** A host name or URL leads to an address that is not public. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
}

const resolveName = createResolveName();

/**
 * Name resolution that resolves with public addresses or fails, at the latest when the signal is aborted. The
 * connection uses the checked address, so a name that resolves differently the next time gains nothing (CVE-2026-1518).
 */
export function publicLookup(signal: AbortSignal, resolve: ResolveName = resolveName): LookupFunction {
  const publicAddresses = async (hostname: string): Promise<readonly LookupAddress[] | Error> => {
    try {
      const addresses = await resolve(hostname, signal);
      const isPublic = addresses.length > 0 && addresses.every(({ address }) => isPublicAddress(address));
      return isPublic ? addresses : new PrivateAddressError('the name does not resolve to public addresses');
    } catch (error) {
      return error instanceof Error ? error : new Error('the name cannot be resolved', { cause: error });
    }
  };
  const answer = async (...[hostname, options, callback]: Parameters<LookupFunction>): Promise<void> => {
    const found = await publicAddresses(hostname);
    if (found instanceof Error) return callback(found, []);
    if (options.all === true) return callback(null, [...found]);
    const [first] = found;
    callback(null, first?.address ?? '', first?.family);
  };
  return (...asked) => void answer(...asked);
}

/**
 * Why a URL may not be asked; undefined if it may. It checks a literal address, because that is never looked up, and
 * the names that are no name server's (RFC 6761 §6.3).
 */
export function problemOf(url: string): string | undefined {
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'https:') return 'not_https';
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const isOwn = /(?:^|\.)localhost\.?$/i.test(host);
  return isOwn || (isIP(host) !== 0 && !isPublicAddress(host)) ? 'private_address' : undefined;
}
