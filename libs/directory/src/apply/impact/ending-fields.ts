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
