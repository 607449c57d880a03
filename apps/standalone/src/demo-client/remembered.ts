import type { Clock, Random } from '@tessera/kit';

const lifetimeMs = 10 * 60_000;
const mostAtOnce = 1000;

/** What the demo client waits for an answer to, by a random name that the browser holds. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #byName = new Map<string, { readonly value: T; readonly until: number }>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Answers the name. The oldest is forgotten where there are too many. */
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

  /** What has this name, once. */
  take(name: string): T | undefined {
    const found = this.find(name);
    this.#byName.delete(name);
    return found;
  }
}
