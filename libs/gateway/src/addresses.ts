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

/** Builds the set; `none` alone is the empty one. Throws an Error with one sentence that names a bad entry. */
export function networks(given: readonly string[]): Networks {
  const entries = given.length === 1 && given[0] === 'none' ? [] : given;
  const blocks = new BlockList();
  for (const entry of entries) for (const block of named[entry] ?? [entry]) add(blocks, block);
  return {
    entries,
    isEmpty: entries.length === 0,
    contains: (address) => {
      const family = isIP(address);
      return family !== 0 && blocks.check(address, family === 4 ? 'ipv4' : 'ipv6');
    },
  };
}

/** Whether an entry covers every address of its family. */
export function isEverything(entry: string): boolean {
  return /\/0+$/.test(entry);
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
