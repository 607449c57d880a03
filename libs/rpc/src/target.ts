/** A host, by name or address, and a port. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/**
 * Reads where a peer is: `host:port`, several of them with commas, or the same after `dns:`, `dns:///`, `ipv4:` or `ipv6:`
 * (gRPC Name Resolution).
 * @throws TypeError that says what is expected, as settings say it
 */
export function parseTarget(target: string): readonly [Place, ...Place[]] {
  const places = target.replace(/^(dns:(\/\/\/)?|ipv[46]:)/, '').split(',');
  const [first, ...others] = places.map((place) => {
    const [, bracketed, plain, port] = /^(?:\[([\da-f:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/i.exec(place) ?? [];
    const host = bracketed ?? plain;
    if (host === undefined || Number(port) < 1 || Number(port) > 65_535) {
      throw new TypeError('expected host:port, several of them with commas, an IPv6 address in brackets');
    }
    return { host, port: Number(port) };
  });
  if (first === undefined) throw new TypeError('a peer is one place at least');
  return [first, ...others];
}
