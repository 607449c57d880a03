import ipaddr from 'ipaddr.js';

/**
 * The key under which attempts from an address are counted: the address, or the /64 of an IPv6 address, which one
 * subscriber holds as a whole. An IPv4 address written as IPv6 counts as itself.
 */
export function addressKey(ipAddress: string): string {
  if (!ipaddr.IPv6.isValid(ipAddress)) return ipAddress;
  const address = ipaddr.IPv6.parse(ipAddress);
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  return address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}

/**
 * The network of an address, which one operator holds as a whole: the /24 of an IPv4 address, the /48 of an IPv6
 * address.
 */
export function networkKey(ipAddress: string): string {
  const key = addressKey(ipAddress);
  return ipaddr.IPv4.isValid(key) ? key.slice(0, key.lastIndexOf('.')) : key.split(':', 3).join(':');
}
