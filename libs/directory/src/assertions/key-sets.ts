import { boundedCache, type Clock } from '@tessera/kit';
import { temporarilyUnavailable, waitingPhase, type OAuthError } from '@tessera/oauth';
import { NoPlaceError, type Places } from '@tessera/outbound';
import { addressKey } from '@tessera/stores';
import type { RepeatedWarnings } from '@tessera/telemetry';
import type { Jwk } from '../applications/public-keys.ts';
import { SourcesOfTenants } from './sources-of-tenants.ts';

export interface LoadedKeys {
  readonly keys: readonly Jwk[];
  /** When they are asked for again, and until when they are used if that fails; both after they were loaded. */
  readonly refreshMs: number;
  readonly keptMs: number;
  /** Of a cluster: what it calls itself. */
  readonly issuer?: string;
}

/** Where keys are. The name says of what kind: an address that one chose is never the issuer that another trusts. */
export interface KeySource {
  readonly name: string;
  /** The host that is asked: however many sources it has, who waits for it is counted once. */
  readonly server: string;
  /** Whether the operator says where it is. Others count as those of the tenant that declares them. */
  readonly isConfigured: boolean;
  load(): Promise<LoadedKeys>;
}

/** Who sent an assertion, and the tenant of the application that it is about; both empty for ourselves. */
export interface Asker {
  readonly ipAddress: string;
  readonly tenantId: string;
}

interface Entry {
  loaded: (LoadedKeys & { readonly at: number }) | undefined;
  failedAt: number;
  loading: Promise<void> | undefined;
}

const mostSources = 1_000;
/** How long requests for a source that failed are refused at once. */
const failureKeptMs = 5_000;
/** A key that is not known makes a source be asked again, at most so often. */
const cooldownMs = 10_000;

/**
 * Keys of those whose assertions are verified: cached, asked for by one request at a time, and bounded in number, for
 * each tenant and in all. A source that does not answer costs its own clients only: those who wait for it have few
 * places.
 */
export class KeySets {
  readonly #clock: Clock;
  readonly #places: Places;
  readonly #warnings: RepeatedWarnings;
  readonly #entries = boundedCache<Entry>(mostSources);
  readonly #ofTenants: SourcesOfTenants;

  constructor(deps: { readonly clock: Clock; readonly places: Places; readonly warnings: RepeatedWarnings }) {
    this.#clock = deps.clock;
    this.#places = deps.places;
    this.#warnings = deps.warnings;
    this.#ofTenants = new SourcesOfTenants(deps.clock);
  }

  /**
   * Throws `temporarily_unavailable` if there are none and the source does not answer, and if the tenant has too many.
   */
  async get(source: KeySource, asker: Asker): Promise<LoadedKeys> {
    const entry = this.#entry(source, asker);
    const age = this.#ageOf(entry);
    if (entry.loaded !== undefined && age < entry.loaded.keptMs) {
      if (age >= entry.loaded.refreshMs) this.#refresh(source, entry, asker);
      return entry.loaded;
    }
    entry.loaded = undefined;
    await this.#load(source, entry, asker);
    return this.#required(entry);
  }

  /** The keys as they are now, or a few seconds ago. Throws as `get`. */
  async renewed(source: KeySource, asker: Asker): Promise<LoadedKeys> {
    const entry = this.#entry(source, asker);
    if (this.#ageOf(entry) < cooldownMs) return this.#required(entry);
    await this.#load(source, entry, asker);
    return this.#required(entry);
  }

  /** What was loaded last, without a call, however old it is. */
  known(source: KeySource): LoadedKeys | undefined {
    return this.#entries.get(source.name)?.loaded;
  }

  #entry({ name, isConfigured }: KeySource, { tenantId }: Asker): Entry {
    const drop = (unused: string) => void this.#entries.delete(unused);
    if (!isConfigured && !this.#ofTenants.use(tenantId, name, drop))
      throw unavailable('the tenant uses too many sources of keys');
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const entry: Entry = { loaded: undefined, failedAt: -Infinity, loading: undefined };
    this.#entries.set(name, entry);
    return entry;
  }

  #ageOf({ loaded }: Entry): number {
    return loaded === undefined ? Infinity : Math.max(0, this.#clock.now() - loaded.at);
  }

  #required({ loaded }: Entry): LoadedKeys {
    if (loaded === undefined) throw unavailable('the keys of the issuer cannot be read');
    return loaded;
  }

  #hasFailed({ failedAt }: Entry): boolean {
    const age = this.#clock.now() - failedAt;
    return age >= 0 && age < failureKeptMs;
  }

  /** Nobody waits for it. */
  #refresh(source: KeySource, entry: Entry, { tenantId }: Asker): void {
    if (entry.loading !== undefined || this.#hasFailed(entry)) return;
    this.#load(source, entry, { tenantId, ipAddress: '' }).catch(() => undefined);
  }

  async #load(source: KeySource, entry: Entry, { ipAddress, tenantId }: Asker): Promise<void> {
    if (entry.loading === undefined && this.#hasFailed(entry))
      throw unavailable('the keys of the issuer could not be read a moment ago');
    try {
      await this.#places.hold({ server: source.server, address: addressKey(ipAddress) }, () => {
        entry.loading ??= this.#asked(source, entry, tenantId).finally(() => (entry.loading = undefined));
        return entry.loading;
      });
    } catch (error) {
      throw error instanceof NoPlaceError ? unavailable(error) : error;
    }
  }

  async #asked(source: KeySource, entry: Entry, tenantId: string): Promise<void> {
    const ask = async () => this.#ask(source, entry);
    await (source.isConfigured
      ? ask()
      : (this.#ofTenants.ask(tenantId, ask) ??
        Promise.reject(unavailable('the tenant asks for too many keys'))));
  }

  async #ask(source: KeySource, entry: Entry): Promise<void> {
    try {
      entry.loaded = { ...(await source.load()), at: this.#clock.now() };
      entry.failedAt = -Infinity;
    } catch (error) {
      entry.failedAt = this.#clock.now();
      this.#warnings.warn(
        source.name,
        { keysOf: source.name, err: error },
        'cannot read the keys of an issuer that applications trust',
      );
      throw unavailable(error);
    }
  }
}

/** Not an error of this server, and many may wait: the gateway has no line for each. */
function unavailable(cause: unknown): OAuthError {
  return temporarilyUnavailable(cause, failureKeptMs / 1000).withRefusal({ phase: waitingPhase });
}
