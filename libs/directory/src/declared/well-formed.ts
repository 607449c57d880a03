import type { z } from 'zod';
import { application } from '../applications/fields.ts';
import { user } from '../users/fields.ts';
import type { Path } from '../fields/path.ts';
import { tenant, type DeclaredState, type DeclaredTenant } from './schema.ts';

/** Tenants whose rules can be checked. */
interface Checkable {
  readonly tenants: readonly DeclaredTenant[];
  /** The path in the file of a path in `tenants`. */
  pathOf(path: Path): Path;
}

export function everything({ tenants }: DeclaredState): Checkable {
  return { tenants, pathOf: (path) => path };
}

/**
 * A file without its malformed users, applications and tenants, so that one run also reports the rule violations of the
 * rest.
 */
export function wellFormedPart(values: unknown): Checkable {
  const kept = entriesOf(values, 'tenants').flatMap((entry, index) => {
    const users = wellFormed(user, entriesOf(entry, 'users'));
    const applications = wellFormed(application, entriesOf(entry, 'applications'));
    if (typeof entry !== 'object' || entry === null) return [];
    const reduced = {
      ...entry,
      users: users.map(({ value }) => value),
      applications: applications.map(({ value }) => value),
    };
    const { data } = tenant.safeParse(reduced);
    return data === undefined
      ? []
      : [{ index, data, lists: new Map(Object.entries({ users, applications })) }];
  });
  return {
    tenants: kept.map(({ data }) => data),
    pathOf: ([top = '', at = 0, list = '', item, ...rest]) => {
      const found = kept[Number(at)];
      const position = typeof item === 'number' ? found?.lists.get(String(list))?.[item]?.index : undefined;
      const tail = item === undefined ? [] : [position ?? item];
      return [top, found?.index ?? at, ...(list === '' ? [] : [list]), ...tail, ...rest];
    },
  };
}

function entriesOf(value: unknown, key: string): readonly unknown[] {
  const list: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return Array.isArray(list) ? list : [];
}

/** The entries as they stand in the file; a schema would read its own result differently. */
function wellFormed(schema: z.ZodType, entries: readonly unknown[]): { index: number; value: unknown }[] {
  return entries
    .map((value, index) => ({ index, value }))
    .filter(({ value }) => schema.safeParse(value).success);
}
