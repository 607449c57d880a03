import { Code } from '@connectrpc/connect';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Logger } from 'pino';
import { gaveUp } from './exchange.ts';
import { longestTimerMs } from './frames.ts';
import { outliersOf } from './outliers.ts';
import { connectionTimes, Replica } from './replica.ts';
import type { Address, ConnectionTimes } from './replica.ts';
import type { Place } from './target.ts';
import type { WireStatus } from './wire-errors.ts';

/** The addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export interface ReplicasOptions {
  readonly places: readonly Place[];
  /** What TLS needs for a connection to an address that was found under `host`; undefined for plain text. */
  readonly tls: ((host: string) => ConnectionOptions) | undefined;
  readonly log: Logger;
  readonly resolve?: Resolve;
  readonly times?: Partial<ReplicasTimes>;
}

/** Milliseconds. */
export interface ReplicasTimes extends ConnectionTimes {
  /** Between two looks at the names, at least. */
  readonly resolveMs: number;
  /** Between two comparisons of the replicas. */
  readonly compareMs: number;
  /** How long an outlier gets no calls. */
  readonly ejectedMs: number;
}

const defaultTimes: ReplicasTimes = {
  ...connectionTimes,
  resolveMs: 5_000,
  compareMs: 10_000,
  ejectedMs: 30_000,
};

interface Waiting {
  readonly settle: (found: Replica | WireStatus) => void;
}

/**
 * All replicas of a peer, which take calls in turn. Connects when it is first asked for one. Whenever a connection is
 * lost, names are looked up again, so that new replicas are found; one that is in no name any more is left.
 */
export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #times: ReplicasTimes;
  /** By address. */
  readonly #replicas = new Map<string, Replica>();
  /** Until when a replica gets no calls. */
  readonly #ejected = new Map<Replica, number>();
  readonly #waiting = new Set<Waiting>();
  #ready: readonly Replica[] = [];
  #turn = Math.floor(Math.random() * 1_000);
  #started = false;
  #closed = false;
  #resolving = false;
  #resolvedAt = 0;
  #lookAgain: NodeJS.Timeout | undefined;
  #comparing: NodeJS.Timeout | undefined;
  #lookUpError: Error | undefined;

  constructor(options: ReplicasOptions) {
    this.#options = options;
    this.#times = { ...defaultTimes, ...options.times };
  }

  /** The replica whose turn it is; undefined while none is connected. */
  next(): Replica | undefined {
    const ready = this.#ready;
    if (ready.length === 0) return undefined;
    this.#turn = (this.#turn + 1) % ready.length;
    return ready[this.#turn];
  }

  /** The next one, once there is one; a status when there will be none soon. @param deadline as of an attempt */
  awaited(deadline: number, signal: AbortSignal | undefined): Promise<Replica | WireStatus> {
    this.#start();
    return new Promise((resolve) => {
      const found = signal?.aborted === true ? gaveUp : this.#found();
      if (found !== undefined) return resolve(found);
      const late = (): void =>
        waiting.settle({ code: Code.DeadlineExceeded, details: 'no connection in time' });
      const leave = (): void => waiting.settle(gaveUp);
      const remainingMs = deadline - Date.now();
      const timer = remainingMs > longestTimerMs ? undefined : setTimeout(late, remainingMs);
      const waiting: Waiting = {
        settle: (outcome) => {
          this.#waiting.delete(waiting);
          clearTimeout(timer);
          signal?.removeEventListener('abort', leave);
          resolve(outcome);
        },
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.add(waiting);
    });
  }

  /** Takes no more calls; those that run may end. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#lookAgain);
    clearInterval(this.#comparing);
    for (const replica of this.#replicas.values()) replica.close();
    this.#replicas.clear();
    this.#renew();
  }

  #start(): void {
    if (this.#started || this.#closed) return;
    this.#started = true;
    void this.#resolve();
    this.#comparing = setInterval(() => this.#compare(), this.#times.compareMs).unref();
  }

  /** What a waiting call is told; undefined: it goes on waiting. */
  #found(): Replica | WireStatus | undefined {
    const next = this.next();
    if (next !== undefined) return next;
    const replicas = [...this.#replicas.values()];
    const soon = this.#resolving && replicas.length === 0;
    if (!this.#closed && (soon || replicas.some(({ state }) => state === 'connecting'))) return undefined;
    const errors = [...replicas.map(({ lastError }) => lastError), this.#lookUpError];
    const error = errors.find((one) => one !== undefined);
    return { code: Code.Unavailable, details: `no connection: ${error?.message ?? 'none is open'}` };
  }

  #renew(): void {
    const connected = [...this.#replicas.values()].filter(({ state }) => state === 'ready');
    const fit = connected.filter((replica) => !this.#ejected.has(replica));
    // Better an outlier than nobody.
    this.#ready = fit.length > 0 ? fit : connected;
    for (const waiting of this.#waiting) {
      const found = this.#found();
      if (found !== undefined) waiting.settle(found);
    }
  }

  #changed(replica: Replica): void {
    this.#renew();
    if (replica.state === 'ready') return;
    this.#options.log.debug(
      { replica: keyOf(replica.address), error: replica.lastError },
      'replica takes no calls',
    );
    this.#resolveSoon();
  }

  #areAllReady(): boolean {
    const replicas = [...this.#replicas.values()];
    return replicas.length > 0 && replicas.every(({ state }) => state === 'ready');
  }

  #resolveSoon(): void {
    if (this.#resolving || this.#closed || this.#lookAgain !== undefined) return;
    if (this.#options.places.every(({ host }) => isIP(host) !== 0)) return;
    const waitMs = Math.max(0, this.#resolvedAt + this.#times.resolveMs - Date.now());
    this.#lookAgain = setTimeout(() => {
      this.#lookAgain = undefined;
      void this.#resolve();
    }, waitMs).unref();
  }

  async #resolve(): Promise<void> {
    this.#resolving = true;
    const found = await Promise.allSettled(this.#options.places.map((place) => this.#addressesOf(place)));
    this.#resolving = false;
    this.#resolvedAt = Date.now();
    if (this.#closed) return;
    const failed = found.find((one) => one.status === 'rejected');
    this.#lookUpError = failed?.reason as Error | undefined;
    const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    // A name that cannot be looked up says nothing about the replicas that were found under it.
    if (failed === undefined) this.#keepOnly(new Set(addresses.map(keyOf)));
    for (const address of addresses) this.#add(address);
    this.#renew();
    // What was found may be out of date for as long as it does not answer.
    if (failed !== undefined || !this.#areAllReady()) this.#resolveSoon();
  }

  async #addressesOf({ host, port }: Place): Promise<(Address & { readonly name: string })[]> {
    const hosts = isIP(host) === 0 ? await (this.#options.resolve ?? lookUp)(host) : [host];
    return hosts.map((one) => ({ host: one, port, name: host }));
  }

  #keepOnly(keys: ReadonlySet<string>): void {
    for (const [key, replica] of this.#replicas) {
      if (keys.has(key)) continue;
      this.#replicas.delete(key);
      this.#ejected.delete(replica);
      replica.close();
    }
  }

  #add(address: Address & { readonly name: string }): void {
    const key = keyOf(address);
    if (this.#replicas.has(key)) return;
    const { tls } = this.#options;
    const replica = new Replica({
      address,
      tls: tls === undefined ? undefined : () => tls(address.name),
      times: this.#times,
      onChange: (changed) => this.#changed(changed),
    });
    this.#replicas.set(key, replica);
  }

  /** Gives no calls to those that fail far more often than the others, for a while, and to half of all at most. */
  #compare(): void {
    const now = Date.now();
    for (const [replica, until] of this.#ejected) if (until <= now) this.#ejected.delete(replica);
    const replicas = [...this.#replicas.values()];
    const outliers = outliersOf(replicas);
    for (const replica of replicas) [replica.good, replica.bad] = [0, 0];
    for (const at of outliers) {
      const replica = replicas[at];
      if (replica === undefined || (this.#ejected.size + 1) * 2 > replicas.length) break;
      this.#ejected.set(replica, now + this.#times.ejectedMs);
      this.#options.log.warn({ replica: keyOf(replica.address) }, 'replica fails more often than the others');
    }
    this.#renew();
  }
}

function keyOf({ host, port }: Address): string {
  return `${host} ${port}`;
}

async function lookUp(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
