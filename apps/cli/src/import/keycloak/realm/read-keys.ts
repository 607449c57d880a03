/** What becomes of a key that nothing reads, and of all below it. */
export interface KnownKey {
  /** The line, without the key; undefined for a key without meaning here. */
  readonly line: string | undefined;
  /** Values that change nothing, so that they have no line. */
  readonly harmless: ReadonlySet<unknown>;
}

/** What is known of the keys of a file, by their pattern such as `clients[].attributes.saml.encrypt`. */
export interface KnownKeys {
  of(pattern: string): KnownKey | undefined;
  /** Whether the keys of this object are names that somebody chose; their pattern is `*`. */
  isMap(pattern: string): boolean;
  /** Where a list within itself begins: the pattern of its entries. */
  same(pattern: string): string;
  /** Whether the value at the pattern has a line of its own, or is the source's own. */
  isPassedOver(pattern: string, value: object): boolean;
}

/** A pattern of keys, with all that the files have there. */
interface Place {
  readonly pattern: string;
  readonly known: KnownKey | undefined;
  readonly isMap: boolean;
  readonly below: Map<string, Place>;
  isRead: boolean;
  /** Values there, or with something below them, that were not read. */
  unread: number;
  /** Entries there for which the known key has its line. */
  told: number;
  handler: ProxyHandler<object> | undefined;
}

/**
 * Watches which keys of a file are read, by pattern and not by record: a key that nobody reads is found once, however
 * many records have it.
 */
export class ReadKeys {
  readonly #known: KnownKeys;
  readonly #places = new Map<string, Place>();
  readonly #root: Place;

  constructor(known: KnownKeys) {
    this.#known = known;
    this.#root = this.#place('');
  }

  /** The value, which marks what is read of it. It has the keys of the file by the same names. */
  watched<T extends object>(value: T): T {
    return this.#watchedAt(value, this.#root);
  }

  /** As `watched`, an entry of a list under this key, which is read one by one. */
  watchedEntry<T extends object>(key: string, entry: T): T {
    return this.#watchedAt(entry, this.#entriesOf(key));
  }

  /**
   * A line for each key of these values that was not read, and is not known to be without meaning. A line has patterns
   * of keys and counts, and never a value. Called once, when all is read.
   * @param entries of the list that was read one by one
   */
  unread(
    values: readonly unknown[],
    entries?: { readonly key: string; readonly values: Iterable<unknown> },
  ): string[] {
    for (const value of values) this.#count(value, this.#root);
    if (entries !== undefined) this.#countEntries(entries.key, entries.values);
    const lines = [...this.#places.values()]
      .filter(({ told }) => told > 0)
      .map(({ pattern, told, known }) => `${shown(pattern, told)}: ${known?.line ?? ''}`);
    this.#tell(this.#root, new Set(), lines);
    return lines;
  }

  #entriesOf(key: string): Place {
    const list = this.#below(this.#root, key);
    list.isRead = true;
    const entries = this.#below(list, undefined);
    entries.isRead = true;
    return entries;
  }

  /** As `#count` does with a list. */
  #countEntries(key: string, values: Iterable<unknown>): void {
    const place = this.#entriesOf(key);
    let isUnread = false;
    for (const value of values) isUnread = this.#count(value, place) || isUnread;
    if (!isUnread) return;
    this.#below(this.#root, key).unread += 1;
    this.#root.unread += 1;
  }

  #place(named: string): Place {
    const pattern = this.#known.same(named);
    let place = this.#places.get(pattern);
    if (place === undefined) {
      place = {
        pattern,
        known: this.#known.of(pattern),
        isMap: this.#known.isMap(pattern),
        below: new Map(),
        isRead: false,
        unread: 0,
        told: 0,
        handler: undefined,
      };
      this.#places.set(pattern, place);
    }
    return place;
  }

  #below(place: Place, key: string | undefined): Place {
    // Nobody reads one by this name, whatever others are.
    const isOneOfMap = place.isMap && key !== '__proto__';
    const name = key === undefined ? '[]' : isOneOfMap ? '*' : key;
    let below = place.below.get(name);
    if (below === undefined) {
      const { pattern } = place;
      below = this.#place(key === undefined || pattern === '' ? `${pattern}${name}` : `${pattern}.${name}`);
      place.below.set(name, below);
    }
    return below;
  }

  #watchedAt<T>(value: T, place: Place): T {
    if (!isObject(value)) return value;
    place.handler ??= {
      get: (target, key) => {
        const found: unknown = Reflect.get(target, key);
        if (typeof key === 'symbol' || typeof found === 'function') return found;
        const isList = Array.isArray(target);
        if (isList && !/^\d+$/.test(key)) return found;
        const below = this.#below(place, isList ? undefined : key);
        below.isRead = true;
        return this.#watchedAt(found, below);
      },
    };
    return new Proxy<object>(value, place.handler) as T;
  }

  /** Whether there is something that was not read. */
  #count(value: unknown, place: Place): boolean {
    if (value === null || value === undefined) return false;
    const { known } = place;
    if (known !== undefined) {
      if (known.line !== undefined && matters(value, known))
        place.told += Array.isArray(value) ? value.length : 1;
      return false;
    }
    let isUnread = false;
    if (!isObject(value)) isUnread = !place.isRead;
    else if (this.#known.isPassedOver(place.pattern, value)) return false;
    else if (Array.isArray(value)) {
      const below = this.#below(place, undefined);
      for (const each of value as unknown[]) isUnread = this.#count(each, below) || isUnread;
    } else
      for (const [key, each] of Object.entries(value))
        isUnread = this.#count(each, this.#below(place, key)) || isUnread;
    if (isUnread) place.unread += 1;
    return isUnread;
  }

  #tell(place: Place, told: Set<Place>, lines: string[]): void {
    if (place.unread === 0 || told.has(place)) return;
    told.add(place);
    if (place !== this.#root && !hasKnown(place, new Set())) {
      const count = place.below.get('[]')?.unread ?? place.unread;
      lines.push(`${shown(place.pattern, count)}: nobody knows this key`);
      return;
    }
    for (const below of place.below.values()) this.#tell(below, told, lines);
  }
}

/** Whether anything at a place or below it is read or known: then what is not has a line of its own. */
function hasKnown(place: Place, seen: Set<Place>): boolean {
  if (seen.has(place)) return false;
  seen.add(place);
  if (place.known !== undefined) return true;
  const below = [...place.below.values()];
  return (place.isRead && below.length > 0) || below.some((each) => each.isRead || hasKnown(each, seen));
}

/** Whether a value has a part that changes something. */
function matters(value: unknown, known: KnownKey): boolean {
  if (value === null || value === undefined) return false;
  if (!isObject(value)) return !known.harmless.has(value);
  return Object.values(value).some((each) => matters(each, known));
}

/** Keys are the file's: what a terminal would act on stands for itself. */
function shown(pattern: string, count: number): string {
  const name = pattern.replaceAll(/\p{C}/gu, '?').slice(0, 200).replace(/\[\]$/, '');
  return count > 1 ? `${name} (${count})` : name;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
