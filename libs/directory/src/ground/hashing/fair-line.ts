import { busy } from './busy.ts';

/**
 * Who signs in: lines serve addresses in turn, and the queue bounds what each network, account and tenant has in it.
 */
export interface SignInSource {
  readonly address: string;
  /** The network of the address. One subscriber may have thousands of addresses in theirs. */
  readonly network: string;
  readonly account: string;
  readonly tenant: string;
}

/** Somebody who waits for their turn. */
export interface Waiting {
  reject(error: Error): void;
}

/** The waiting calls of one address. */
interface AddressLine<W> {
  readonly network: string;
  readonly waiting: W[];
}

/** A bounded line that serves one address after the other. */
export class FairLine<W extends Waiting> {
  readonly #capacity: number;
  /** By address; the address that comes next is the first. */
  readonly #addresses = new Map<string, AddressLine<W>>();
  #size = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#size;
  }

  /** The next one, who stays in the line. */
  first(): W | undefined {
    for (const { waiting } of this.#addresses.values()) if (waiting.length > 0) return waiting[0];
    return undefined;
  }

  /** Takes the next one out, of those addresses whose own next one fits. */
  shift(fits: (entry: W) => boolean = () => true): W | undefined {
    for (const [address, own] of this.#addresses) {
      if (own.waiting[0] !== undefined && !fits(own.waiting[0])) continue;
      const next = own.waiting.shift();
      this.#addresses.delete(address);
      if (own.waiting.length > 0) this.#addresses.set(address, own);
      // An address that gave its only place to another has nobody left.
      if (next === undefined) continue;
      this.#size -= 1;
      return next;
    }
    return undefined;
  }

  /**
   * Rejects at once if the line is full and no network, and no address of the same network, has more waiting; else one
   * of those is rejected for it.
   */
  add({ address, network }: Pick<SignInSource, 'address' | 'network'>, entry: W): void {
    const own = this.#addresses.get(address) ?? { network, waiting: [] };
    if (this.#size >= this.#capacity) {
      const longest = this.#longestFor(own);
      if (longest === undefined) return entry.reject(busy('Too many passwords are being verified.'));
      longest.waiting.pop()?.reject(busy('Too many passwords are being verified for this network.'));
      this.#size -= 1;
    }
    own.waiting.push(entry);
    this.#addresses.set(address, own);
    this.#size += 1;
  }

  /** Takes one out who no longer waits. */
  remove(address: string, entry: W): void {
    const own = this.#addresses.get(address);
    const at = own?.waiting.indexOf(entry) ?? -1;
    if (own === undefined || at < 0) return;
    own.waiting.splice(at, 1);
    this.#size -= 1;
    if (own.waiting.length === 0) this.#addresses.delete(address);
  }

  /**
   * The address that gives a place of the full line to `own`: in the network with the most waiting, or, if that is its
   * own, in the same network. Undefined if none would still have as many waiting.
   */
  #longestFor(own: AddressLine<W>): AddressLine<W> | undefined {
    const waitingOf = (network: string) => networks.get(network) ?? 0;
    const networks = new Map<string, number>();
    for (const { network, waiting } of this.#addresses.values())
      networks.set(network, waitingOf(network) + waiting.length);
    let largest = own.network;
    for (const [network, waiting] of networks) if (waiting > waitingOf(largest)) largest = network;
    const network = waitingOf(largest) > waitingOf(own.network) + 1 ? largest : own.network;
    let longest = own;
    let most = network === own.network ? own.waiting.length + 1 : 0;
    for (const line of this.#addresses.values()) {
      if (line.network !== network || line.waiting.length <= most) continue;
      longest = line;
      most = line.waiting.length;
    }
    return longest === own ? undefined : longest;
  }
}
