import { boundedCache, type Clock } from '@tessera/kit';

/** That one tenant has at once. */
const most = 100;
/** How long a source keeps its place after it was used: so a tenant gets new ones asked `most` times within it. */
const placeMs = 60_000;
/** Of one tenant that are asked at once. */
const mostAsked = 8;
const mostTenants = 1_000;

/** The sources that a tenant declares, by when it used them last; and how many of them are being asked. */
interface Sources {
  readonly used: Map<string, number>;
  asked: number;
}

/** What each tenant has of the sources of keys: however many it declares, others keep theirs. */
export class SourcesOfTenants {
  readonly #clock: Clock;
  readonly #tenants = boundedCache<Sources>(mostTenants);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Notes that a tenant uses a source. False if it uses too many.
   * @param drop called with a source that gave up its place, and that no other tenant has
   */
  use(tenantId: string, name: string, drop: (name: string) => void): boolean {
    const { used } = this.#of(tenantId);
    const now = this.#clock.now();
    if (!used.has(name) && used.size >= most) {
      // The first of a map is the one that was used least recently.
      const [oldest] = used;
      if (oldest === undefined || Math.abs(now - oldest[1]) < placeMs) return false;
      used.delete(oldest[0]);
      if (!this.#isUsed(oldest[0])) drop(oldest[0]);
    }
    used.delete(name);
    used.set(name, now);
    return true;
  }

  /** Does `ask` for a tenant; undefined if too many of its sources are being asked. */
  ask(tenantId: string, ask: () => Promise<void>): Promise<void> | undefined {
    const sources = this.#of(tenantId);
    if (sources.asked >= mostAsked) return undefined;
    sources.asked += 1;
    return ask().finally(() => (sources.asked -= 1));
  }

  #isUsed(name: string): boolean {
    return Array.from(this.#tenants.values()).some(({ used }) => used.has(name));
  }

  #of(tenantId: string): Sources {
    const known = this.#tenants.get(tenantId);
    if (known !== undefined) return known;
    const sources: Sources = { used: new Map(), asked: 0 };
    this.#tenants.set(tenantId, sources);
    return sources;
  }
}
