import { parseAddresses, type Address } from '@tessera/kit';

/**
 * Reads where a peer is: `host:port`, several of them with commas, or the same after `dns:`, `dns:///`, `ipv4:` or
 * `ipv6:` (gRPC Name Resolution).
 * @throws TypeError that says what is expected, as settings say it
 */
export function parseTarget(target: string): readonly Address[] {
  const addresses = parseAddresses(target.replace(/^(dns:(\/\/\/)?|ipv[46]:)/, ''));
  if (addresses === undefined || /\s/.test(target)) {
    throw new TypeError('expected host:port, several of them with commas, an IPv6 address in brackets');
  }
  return addresses;
}
