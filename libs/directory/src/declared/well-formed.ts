import type { z } from 'zod';
import type { Path } from '../fields/path.ts';
import { byList, recordKinds } from '../record-kinds.ts';
import { tenant, type DeclaredState, type DeclaredTenant } from './schema.ts';
import { referredTo, type Surroundings } from './surroundings.ts';

/** Tenants whose rules can be checked. */
interface Checkable {
  readonly tenants: readonly DeclaredTenant[];
  /** The path in the file of a path in `tenants`. */
  pathOf(path: Path): Path;
  /** What the tenants have besides what is in them. */
  withMalformed(tenant: DeclaredTenant, others: Surroundings): Surroundings;
}

export function everything({ tenants }: DeclaredState): Checkable {
  return { tenants, pathOf: (path) => path, withMalformed: (_tenant, others) => others };
}

/** The lists of a tenant, and what is in each. */
const lists = byList<z.ZodType>((kind) => recordKinds[kind].entry);
type List = keyof typeof lists;

interface Kept {
  /** In the file. */
  readonly index: number;
  readonly data: DeclaredTenant;
  /** Of each list, where the entries stand in the file that are kept. */
  readonly places: ReadonlyMap<string, readonly number[]>;
  /** Lists of which something is left out. */
  readonly incomplete: ReadonlySet<List>;
}

/**
 * A file without its malformed entries and keys, so that one run also reports the rule violations of the rest. What
 * refers to a list with a malformed entry is taken to refer to that one.
 */
export function wellFormedPart(values: unknown): Checkable {
  const kept = entriesOf(values, 'tenants').flatMap(
    (entry, index) => (isObject(entry) && keptOf(entry, index)) || [],
  );
  const incomplete = new Map(kept.map((one) => [one.data, one.incomplete]));
  return {
    tenants: kept.map(({ data }) => data),
    pathOf: ([top = '', at = 0, list = '', item, ...rest]) => {
      const found = kept[Number(at)];
      const position = typeof item === 'number' ? found?.places.get(String(list))?.[item] : undefined;
      const tail = item === undefined ? [] : [position ?? item];
      return [top, found?.index ?? at, ...(list === '' ? [] : [list]), ...tail, ...rest];
    },
    withMalformed(declared, others) {
      const lacks = (list: List) => incomplete.get(declared)?.has(list) === true;
      const { resources, roles } = referredTo(declared);
      return {
        ...others,
        ...(lacks('resources') && { resources: [...others.resources, ...resources] }),
        ...(lacks('roles') && { roles: [...others.roles, ...roles] }),
      };
    },
  };
}

/** Undefined for a tenant that is not known without what is malformed. */
function keptOf(entry: Readonly<Record<string, unknown>>, index: number): Kept | undefined {
  const places = new Map<string, readonly number[]>();
  const incomplete = new Set<List>();
  const reduced: Record<string, unknown> = { ...entry };
  for (const [list, schema] of Object.entries(lists) as [List, z.ZodType][]) {
    const entries = entriesOf(entry, list);
    const good = [...entries.keys()].filter((place) => schema.safeParse(entries[place]).success);
    places.set(list, good);
    // As they stand in the file; a schema would read its own result differently.
    reduced[list] = good.map((place) => entries[place]);
    if (good.length < entries.length || !Array.isArray(entry[list] ?? [])) incomplete.add(list);
  }
  const data = tenant.safeParse(reduced).data ?? tenant.safeParse(withoutMalformed(reduced, index)).data;
  return data && { index, data, places, incomplete };
}

/**
 * A name and an issuer of a tenant have stand-ins: without them it would be another kind of entry, or at the shared
 * issuer.
 */
function withoutMalformed(
  entry: Readonly<Record<string, unknown>>,
  index: number,
): Readonly<Record<string, unknown>> {
  const malformed = new Set(
    tenant
      .safeParse(entry)
      .error?.issues.flatMap((issue) =>
        issue.code === 'unrecognized_keys' ? issue.keys : issue.path.slice(0, 1).map(String),
      ),
  );
  const standIns: Readonly<Record<string, string>> = {
    name: 'malformed',
    issuer: `https://tenant-${index}.invalid`,
  };
  return Object.fromEntries(
    Object.entries(entry).flatMap(([key, value]): [string, unknown][] => {
      if (!malformed.has(key)) return [[key, value]];
      const standIn = standIns[key];
      return standIn === undefined ? [] : [[key, standIn]];
    }),
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function entriesOf(value: unknown, key: string): readonly unknown[] {
  const list = isObject(value) ? value[key] : undefined;
  return Array.isArray(list) ? list : [];
}
