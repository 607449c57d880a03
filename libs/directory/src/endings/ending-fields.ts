import { snakeCase } from '../fields/columns.ts';

/**
 * A change of one of these fields, or the deletion of the record, ends for good everything that was issued on its basis: `valid_from` rises.
 * What reports a change beforehand and what carries it out both read this table.
 */
export const endingFields = {
  tenant: ['status'],
  user: ['status', 'passwordHash'],
  application: ['status'],
} as const;

export type EndingKind = keyof typeof endingFields;

/** Whether the change of a record ends what was issued on its basis. */
export function endsAll<
  K extends EndingKind,
  R extends { readonly [F in (typeof endingFields)[K][number]]: unknown },
>(kind: K, before: R, after: R): boolean {
  const fields: readonly (typeof endingFields)[K][number][] = endingFields[kind];
  return fields.some((field) => before[field] !== after[field]);
}

/** SQL: where a field that ends what was issued differs from the row that is overwritten, that ends with this change. */
export function validFromAfter(kind: EndingKind, then: string): string {
  const changed = endingFields[kind].map(
    (field) => `present.${snakeCase(field)} IS DISTINCT FROM excluded.${snakeCase(field)}`,
  );
  return `CASE WHEN ${changed.join(' OR ')} THEN ${then} ELSE present.valid_from END`;
}
