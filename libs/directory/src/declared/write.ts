import { stringify } from 'yaml';
import { entryOf, type Fields } from '../fields/field.ts';
import { listedKinds, recordKinds, recordName, type Kind, type ListedKind } from '../record-kinds.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import { tenantFields } from '../tenants/fields.ts';

/** Which records are written. */
interface Written {
  /** Undefined: the records of all. */
  readonly owner: string | undefined;
  /** Empty: all. */
  readonly kinds: ReadonlySet<string>;
}

/**
 * A declared state of one tenant, in YAML, without secrets, passwords and their hashes. Defaults are omitted, so
 * `status` appears only if it is not `active`. Lists are sorted if their order has no meaning. Where its own fields are
 * not written, the entry refers to the tenant.
 */
export function writeDocument(state: TenantState, { owner, kinds }: Written): string {
  const { tenant } = state;
  const isWritten = (record: Owned) => owner === undefined || record.owner === owner;
  const isOf = (kind: Kind) => kinds.size === 0 || kinds.has(kind);
  const given = listedKinds
    .filter((kind) => isOf(kind))
    .map((kind): [string, readonly unknown[]] => {
      const { list } = recordKinds[kind];
      const records: readonly Owned[] = state[list];
      return [list, sortedByName(kind, records.filter(isWritten)).map((one) => entryOfRecord(kind, one))];
    })
    .filter(([, list]) => list.length > 0);
  const own = isOf('tenant') && isWritten(tenant) ? entryOf(tenantFields, tenant) : {};
  const entry = { id: tenant.tenantId, ...own, ...Object.fromEntries(given) };
  const written = stringify([entry], { lineWidth: 0, aliasDuplicateObjects: false });
  return `${owner === undefined ? '' : stringify({ owner })}tenants:\n${written}`;
}

interface Owned {
  readonly owner: string;
}

function entryOfRecord(kind: ListedKind, record: object): unknown {
  const { fields, written } = recordKinds[kind] as {
    readonly fields: Fields;
    readonly written?: (record: object) => unknown;
  };
  return written === undefined ? entryOf(fields, record as never) : written(record);
}

function sortedByName<R extends object>(kind: ListedKind, records: readonly R[]): R[] {
  return records.toSorted((left, right) => (recordName(kind, left) < recordName(kind, right) ? -1 : 1));
}
