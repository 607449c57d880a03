import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

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

/**
 * Name resolution that resolves with public addresses or fails. The connection uses the checked address, so a name that
 * resolves differently the next time gains nothing (CVE-2026-1518).
 */
export function publicLookup(lookup: typeof systemLookup = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const [first] = addresses;
      if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address))) {
        return callback(new PrivateAddressError('the name does not resolve to public addresses'), []);
      }
      if (options.all === true) return callback(null, addresses);
      callback(null, first.address, first.family);
    });
  };
}

/** Why a URL may not be asked; undefined if it may. It checks a literal address, because that is never looked up. */
export function problemOf(url: string): string | undefined {
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'https:') return 'not_https';
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) !== 0 && !isPublicAddress(host) ? 'private_address' : undefined;
}
