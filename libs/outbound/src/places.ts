import { AsyncLocalStorage } from 'node:async_hooks';

/** How many may wait for servers of others at once. */
export interface Bounds {
  /** For one server while it is quick, so that a rush of people passes. */
  readonly ofServer: number;
  /** For one server whose oldest caller has waited for longer than `slowMs`. */
  readonly ofSlowServer: number;
  /** Of those, from one address: nobody takes all places of a slow server. */
  readonly ofAddressAtSlowServer: number;
  /** From one address, whatever the server. */
  readonly ofAddress: number;
  readonly inAll: number;
  readonly slowMs: number;
}

export const usualBounds: Bounds = {
  ofServer: 32,
  ofSlowServer: 16,
  ofAddressAtSlowServer: 4,
  ofAddress: 64,
  inAll: 256,
  slowMs: 1_000,
};

/** For whom a request waits, and who sent it. */
export interface Waiting {
  /** The server; undefined where it is not known yet, and another process counts it. */
  readonly server: string | undefined;
  readonly address: string;
}

/** Too many wait already. */
export class NoPlaceError extends Error {
  override readonly name = 'NoPlaceError';
}

/** Made once: an error with a stack for each would cost as much as some answers. */
const noPlace = new NoPlaceError('too many requests wait for servers of others');

/** The places of requests that wait for servers of others: one that is slow, or silent, must hold up nobody else. */
export interface Places {
  /** Does `work` at a place. Rejects at once with NoPlaceError if there is none. */
  hold<T>(waiting: Waiting, work: () => Promise<T>): Promise<T>;
  /** Whether the running code has one. */
  isHeld(): boolean;
}

interface Held extends Waiting {
  readonly since: number;
}

export function createPlaces({ now }: { readonly now: () => number }, bounds: Bounds = usualBounds): Places {
  const atPlace = new AsyncLocalStorage<true>();
  /** Oldest first, as the sets in the map are. */
  const held = new Set<Held>();
  const byServer = new Map<string, Set<Held>>();

  const isFull = ({ server, address }: Waiting): boolean => {
    if (held.size >= bounds.inAll || countOf(held, address) >= bounds.ofAddress) return true;
    const ofServer = server === undefined ? undefined : byServer.get(server);
    const [oldest] = ofServer ?? [];
    if (ofServer === undefined || oldest === undefined) return false;
    if (now() - oldest.since <= bounds.slowMs) return ofServer.size >= bounds.ofServer;
    return ofServer.size >= bounds.ofSlowServer || countOf(ofServer, address) >= bounds.ofAddressAtSlowServer;
  };

  return {
    isHeld: () => atPlace.getStore() === true,

    async hold(waiting, work) {
      if (isFull(waiting)) throw noPlace;
      const { server } = waiting;
      const place: Held = { ...waiting, since: now() };
      held.add(place);
      if (server !== undefined) byServer.set(server, (byServer.get(server) ?? new Set()).add(place));
      try {
        return await atPlace.run(true, work);
      } finally {
        held.delete(place);
        const others = server === undefined ? undefined : byServer.get(server);
        others?.delete(place);
        if (server !== undefined && others?.size === 0) byServer.delete(server);
      }
    },
  };
}

/** Of a few hundred at most. */
function countOf(places: ReadonlySet<Held>, address: string): number {
  let count = 0;
  for (const place of places) if (place.address === address) count += 1;
  return count;
}
