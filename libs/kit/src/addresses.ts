/** A host, by name or IP address, and a port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Reads `host:port,host,[::1]:port`. Without `defaultPort` every host needs a port.
 * @returns undefined when one of them is no address
 */
export function parseAddresses(text: string, defaultPort?: number): Address[] | undefined {
  const addresses: Address[] = [];
  for (const entry of text.split(',')) {
    const match = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i.exec(entry.trim());
    const host = match?.[1] ?? match?.[2];
    const port = Number(match?.[3] ?? defaultPort);
    if (host === undefined || !(port >= 1 && port <= 65_535)) return undefined;
    addresses.push({ host, port });
  }
  return addresses;
}
