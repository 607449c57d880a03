import { isDeepStrictEqual } from 'node:util';
import type { Ending } from '../fields/ending.ts';
import { recordKinds, type Kind, type RecordOf } from '../record-kinds.ts';

/** Without the key, which never changes. */
type Records = { readonly [K in Kind]: Omit<RecordOf[K], (typeof recordKinds)[K]['key']> };

/**
 * By kind, a row for each field that can change, and for the deletion. What reports a change beforehand and what
 * carries it out read this table, and so do its tests.
 */
export const endings = Object.fromEntries(
  Object.entries(recordKinds).map(([kind, row]) => [kind, row.endings]),
) as { readonly [K in Kind]: (typeof recordKinds)[K]['endings'] };

/** Whether a record changes in a field that ends what was issued in this way. */
export function endsBy<K extends Kind>(how: Ending, kind: K, before: Records[K], after: Records[K]): boolean {
  return fieldsBy(how, kind).some((field) => !isDeepStrictEqual(before[field], after[field]));
}

/** Whether the deletion of a record ends everything that was issued on its basis. */
export function deletionEnds(kind: Kind): boolean {
  return endings[kind].deleted === 'all';
}

function fieldsBy<K extends Kind>(how: Ending, kind: K): (keyof Records[K])[] {
  const rows: Readonly<Record<string, Ending>> = endings[kind];
  return Object.keys(rows).filter(
    (field) => field !== 'deleted' && rows[field] === how,
  ) as (keyof Records[K])[];
}
