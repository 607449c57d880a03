import { lookup } from 'node:dns/promises';
import { experimental, Metadata, status } from '@grpc/grpc-js';

/**
 * Scheme of a target that lists several hosts, each a name or an address: `hosts:a:9001,b:9001`. gRPC has none for
 * names.
 */
export const hostListScheme = 'hosts';

const lookupIntervalMs = 2_000;

/** Resolves every host of the list; a host that cannot be looked up is left out while another one can. */
class HostListResolver implements experimental.Resolver {
  readonly #hosts: readonly experimental.HostPort[];
  readonly #listener: experimental.ResolverListener;
  #timer: NodeJS.Timeout | undefined;
  #lastLookup = -Infinity;
  #destroyed = false;

  constructor(target: experimental.GrpcUri, listener: experimental.ResolverListener) {
    this.#hosts = target.path.split(',').map(parseHost);
    this.#listener = listener;
  }

  updateResolution(): void {
    this.#destroyed = false;
    const wait = Math.max(0, this.#lastLookup + lookupIntervalMs - performance.now());
    this.#timer ??= setTimeout(() => void this.#resolve(), wait);
  }

  destroy(): void {
    this.#destroyed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #resolve(): Promise<void> {
    this.#lastLookup = performance.now();
    const found = await Promise.allSettled(this.#hosts.map(addressesOf));
    this.#timer = undefined;
    if (this.#destroyed) return;
    const endpoints = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    this.#listener(
      endpoints.length > 0 ? experimental.statusOrFromValue(endpoints) : unresolved,
      {},
      null,
      '',
    );
  }

  static getDefaultAuthority(target: experimental.GrpcUri): string {
    return target.path.split(',')[0] ?? target.path;
  }
}

const unresolved = experimental.statusOrFromError<experimental.Endpoint[]>({
  code: status.UNAVAILABLE,
  details: 'none of the hosts can be looked up',
  metadata: new Metadata(),
});

async function addressesOf({ host, port }: experimental.HostPort): Promise<experimental.Endpoint[]> {
  const addresses = await lookup(host, { all: true });
  return addresses.map(({ address }) => ({ addresses: [{ host: address, port: port ?? 443 }] }));
}

function parseHost(text: string): experimental.HostPort {
  const host = experimental.splitHostPort(text);
  if (host?.port === undefined) throw new TypeError(`${text} is not of the form host:port`);
  return host;
}

experimental.registerResolver(hostListScheme, HostListResolver);
