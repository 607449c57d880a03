import { isIP } from 'node:net';
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';

const named: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** A set of IP addresses, made from a list such as `loopback`, `private`, `10.1.2.3`, `2001:db8::/32`. */
export interface Networks {
  /** The entries as they were given, for people. */
  readonly entries: readonly string[];
  readonly isEmpty: boolean;
  contains(address: string): boolean;
}

/** Address and length of the prefix in bits. */
type Network = [IPv4 | IPv6, number];

/** Builds the set; `none` alone is the empty one. Throws an Error with one sentence that names a bad entry. */
export function networks(given: readonly string[]): Networks {
  const entries = given.length === 1 && given[0] === 'none' ? [] : given;
  const inside = networksOf(entries);
  return {
    entries,
    isEmpty: entries.length === 0,
    contains: (text) => {
      const address = parseAddress(text);
      return address !== undefined && ipaddr.subnetMatch(address, { inside }, 'outside') === 'inside';
    },
  };
}

/** Whether an entry covers every address of its family. */
export function isEverything(entry: string): boolean {
  return /\/0+$/.test(entry);
}

/**
 * First and last address of each family on the internet: neither multicast nor reserved, and global unicast (RFC 4291
 * §2.4).
 */
const internet = [
  ['0.0.0.0', '223.255.255.255'],
  ['2000::', '3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
] as const;

/** Whether entries, alone or together, cover every internet address of a family. */
export function coverInternet(entries: readonly string[]): boolean {
  const given = networksOf(entries);
  return internet.some(([first, last]) => cover(given, ipaddr.parse(first), ipaddr.parse(last)));
}

/** Walks the ranges in order of their first addresses until one leaves a gap or the last address is reached. */
function cover(given: readonly Network[], first: IPv4 | IPv6, last: IPv4 | IPv6): boolean {
  const ranges = given
    .filter(([address]) => address.kind() === first.kind())
    .map(rangeOf)
    .toSorted((one, other) => (one.first < other.first ? -1 : 1));
  let next = numberOf(first);
  for (const range of ranges) {
    if (range.first > next) return false;
    if (range.last >= next) next = range.last + 1n;
  }
  return next > numberOf(last);
}

function rangeOf([address, prefix]: Network): { readonly first: bigint; readonly last: bigint } {
  const block = `${address.toString()}/${prefix}`;
  const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return {
    first: numberOf(family.networkAddressFromCIDR(block)),
    last: numberOf(family.broadcastAddressFromCIDR(block)),
  };
}

function numberOf(address: IPv4 | IPv6): bigint {
  return BigInt(`0x${Buffer.from(address.toByteArray()).toString('hex')}`);
}

function networksOf(entries: readonly string[]): Network[] {
  return entries.flatMap((entry) => named[entry] ?? [entry]).map(parseNetwork);
}

function parseNetwork(block: string): Network {
  const [address = ''] = block.split('/', 1);
  // The library also takes the short and octal spellings of IPv4 addresses; `isIP` does not.
  const family = address.includes('%') ? 0 : isIP(address);
  try {
    if (family === 0) throw new Error(`not an IP address: ${address}`);
    return unmapped(ipaddr.parseCIDR(block === address ? `${block}/${family === 4 ? 32 : 128}` : block));
  } catch (error) {
    throw new Error(
      `"${block}" is not an IP address, a network such as 10.0.0.0/8, "loopback" or "private"`,
      { cause: error },
    );
  }
}

/** Callers are compared as IPv4 if they are IPv4-mapped (RFC 4291 §2.5.5.2), so networks of them are too. */
function unmapped([address, prefix]: Network): Network {
  if (address.kind() === 'ipv4' || !(address as IPv6).isIPv4MappedAddress()) return [address, prefix];
  if (prefix < 96) throw new Error('an IPv4-mapped network has a prefix of at least 96');
  return [(address as IPv6).toIPv4Address(), prefix - 96];
}

/** IPv4 out of IPv6 (RFC 4291 §2.5.5.2), without zone. */
function parseAddress(text: string): IPv4 | IPv6 | undefined {
  const [address = ''] = text.split('%', 1);
  return isIP(address) === 0 ? undefined : ipaddr.process(address);
}

/**
 * The address in its shortest comparable form: IPv4 out of IPv6 (RFC 4291 §2.5.5.2), without zone; '' if it is none.
 */
export function normalizeAddress(text: string): string {
  return parseAddress(text)?.toString() ?? '';
}

/**
 * The address of the caller: that of the connection, unless the connection comes from a trusted proxy. Then it is the
 * right-most hop of `X-Forwarded-For` that is not a trusted proxy itself: the client may have written everything left
 * of it. If that hop is not an address, or the proxy names none, the caller is unknown: '' is in no network.
 */
export function callerAddress(
  connection: string,
  forwardedFor: string | undefined,
  proxies: Networks,
): string {
  const peer = normalizeAddress(connection);
  if (!proxies.contains(peer)) return peer;
  let known = '';
  const hops = (forwardedFor ?? '').split(',');
  for (let hop = hops.pop(); hop !== undefined; hop = hops.pop()) {
    known = normalizeAddress(withoutPort(hop.trim()));
    if (known === '' || !proxies.contains(known)) return known;
  }
  return known;
}

function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
}
