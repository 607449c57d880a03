import { isIPv6 } from 'node:net';

/**
 * The key under which attempts from an address are counted: the address, or the /64 of an IPv6 address, which one
 * subscriber holds as a whole. An IPv4 address written as IPv6 counts as itself.
 */
export function addressKey(ipAddress: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ipAddress)?.[1];
  if (mapped !== undefined) return mapped;
  const [bare = ''] = ipAddress.split('%', 1);
  if (!isIPv6(bare)) return ipAddress;
  const [head = '', tail = ''] = bare.toLowerCase().split('::', 2);
  const left = groups(head);
  const right = groups(tail);
  // An embedded IPv4 part stands for two groups; it never reaches the first four of them.
  const written = left.length + right.length + (bare.includes('.') ? 1 : 0);
  const zeros = Array.from({ length: bare.includes('::') ? 8 - written : 0 }, () => 0);
  return [...left, ...zeros, ...right]
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

function groups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}
