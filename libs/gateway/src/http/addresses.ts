import { BlockList, isIP } from 'node:net';

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

/** Addresses that are remembered: the same few proxies and callers ask all day. */
const maxKnown = 1000;

/** Builds the set; `none` alone is the empty one. Throws an Error with one sentence that names a bad entry. */
export function networks(given: readonly string[]): Networks {
  const entries = given.length === 1 && given[0] === 'none' ? [] : given;
  const blocks = new BlockList();
  for (const entry of entries) for (const block of named[entry] ?? [entry]) add(blocks, block);
  const check = (address: string): boolean => {
    const family = isIP(address);
    return family !== 0 && blocks.check(address, family === 4 ? 'ipv4' : 'ipv6');
  };
  const known = new Map<string, boolean>();
  return {
    entries,
    isEmpty: entries.length === 0,
    contains: (address) => {
      let contained = known.get(address);
      if (contained === undefined) {
        contained = check(address);
        if (known.size >= maxKnown) known.clear();
        known.set(address, contained);
      }
      return contained;
    },
  };
}

/** Whether an entry covers every address of its family. */
export function isEverything(entry: string): boolean {
  return /\/0+$/.test(entry);
}

/** What the internet has of each family: what is not multicast or reserved, and global unicast (RFC 4291 §2.4). */
const internet = ['0.0.0.0/1', '128.0.0.0/2', '192.0.0.0/3', '2000::/3'];

/** Whether entries, alone or together, cover every address of a family that a stranger may have. */
export function coverInternet(entries: readonly string[]): boolean {
  const given = entries.flatMap((entry) => named[entry] ?? [entry]).map(rangeOf);
  const [ipv6, ...ipv4] = internet.map(rangeOf).toReversed();
  return ipv4.every((range) => isCovered(range, given)) || (ipv6 !== undefined && isCovered(ipv6, given));
}

/** The leading bits of a network, of 4 or 6 families told apart by the first character. */
function rangeOf(block: string): string {
  const [address = '', prefix] = block.split('/');
  const family = isIP(address) === 4 ? 4 : 6;
  const bits = family === 4 ? bitsOfIPv4(address) : bitsOfIPv6(address);
  return `${family}${bits.slice(0, prefix === undefined ? undefined : Number(prefix))}`;
}

function bitsOfIPv4(address: string): string {
  return address
    .split('.')
    .map((part) => Number(part).toString(2).padStart(8, '0'))
    .join('');
}

function bitsOfIPv6(address: string): string {
  const host = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = host
    .split('::', 2)
    .map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail]
    .map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0'))
    .join('');
}

/** A network is covered by a larger one, or by what covers its halves. */
function isCovered(range: string, given: readonly string[]): boolean {
  if (given.some((one) => range.startsWith(one))) return true;
  const inside = given.filter((one) => one.startsWith(range));
  return inside.length > 1 && isCovered(`${range}0`, inside) && isCovered(`${range}1`, inside);
}

function add(blocks: BlockList, block: string): void {
  const [address = '', prefix, ...rest] = block.split('/');
  const family = address.includes('%') ? 0 : isIP(address);
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const bits = prefix === undefined ? undefined : Number(prefix);
  const bad =
    prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || Number(prefix) > (family === 4 ? 32 : 128));
  if (family === 0 || bad || rest.length > 0) {
    throw new Error(`"${block}" is not an IP address, a network such as 10.0.0.0/8, "loopback" or "private"`);
  }
  if (bits === undefined) blocks.addAddress(address, type);
  else blocks.addSubnet(address, bits, type);
}

/** The address in its shortest comparable form: IPv4 out of IPv6 (RFC 4291 §2.5.5.2), without zone; '' if it is none. */
export function normalizeAddress(text: string): string {
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(text)?.[1];
  const address = mapped ?? text.split('%', 1)[0] ?? '';
  return isIP(address) === 0 ? '' : address.toLowerCase();
}

/**
 * The address of the caller: that of the connection, unless the connection comes from a trusted proxy. Then it is the
 * right-most hop of `X-Forwarded-For` that is not a trusted proxy itself: everything left of it was written by the client.
 * Where that hop is no address, or the proxy names none, nobody knows the caller: '' is in no network.
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
