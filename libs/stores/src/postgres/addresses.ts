export interface StoreAddress {
  readonly host: string;
  readonly port: number;
}

/** `host:port,host,[::1]:port`; undefined when one of them is none. */
export function parseAddresses(text: string, defaultPort: number): StoreAddress[] | undefined {
  const addresses: StoreAddress[] = [];
  for (const entry of text.split(',')) {
    const match = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i.exec(entry.trim());
    const host = match?.[1] ?? match?.[2];
    const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
    if (host === undefined || port < 1 || port > 65_535) return undefined;
    addresses.push({ host, port });
  }
  return addresses;
}
