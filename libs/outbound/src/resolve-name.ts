import { promises, type LookupAddress } from 'node:dns';

/** The addresses of a name; rejects if there are none, and once the signal is aborted. */
export type ResolveName = (name: string, signal: AbortSignal) => Promise<LookupAddress[]>;

const timeoutMs = 1_000;
const tries = 2;

/**
 * Asks name servers for the addresses of a name. `dns.lookup` would do so in a thread of the pool, where nothing ends
 * it: names of a silent server would hold up every other name, and hashes besides.
 * @param servers default: those of the system
 */
export function createResolveName(servers?: readonly string[]): ResolveName {
  return async (name, signal) => {
    signal.throwIfAborted();
    const resolver = new promises.Resolver({ timeout: timeoutMs, tries });
    if (servers !== undefined) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const found = [...addressesOf(four, 4), ...addressesOf(six, 6)];
      if (found.length > 0) return found;
      throw four.status === 'rejected' ? four.reason : new Error('the name has no address');
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
}
