import type { Clock, Random } from '@tessera/kit';

const lifetimeMs = 10 * 60_000;
const mostAtOnce = 1000;

/** State of the demo client between two requests, under a random name in the browser's cookie. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #byName = new Map<string, { readonly value: T; readonly until: number }>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Returns the name. Drops the oldest entry if there are too many. */
  keep(value: T): string {
    const [oldest] = this.#byName.keys();
    if (this.#byName.size >= mostAtOnce && oldest !== undefined) this.#byName.delete(oldest);
    const name = this.#random.bytes(32).toString('base64url');
    this.#byName.set(name, { value, until: this.#clock.now() + lifetimeMs });
    return name;
  }

  find(name: string): T | undefined {
    const found = this.#byName.get(name);
    return found !== undefined && found.until > this.#clock.now() ? found.value : undefined;
  }

  /** Returns the entry and removes it. */
  take(name: string): T | undefined {
    const found = this.find(name);
    this.#byName.delete(name);
    return found;
  }
}
