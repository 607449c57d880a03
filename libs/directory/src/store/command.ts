/**
 * SQL: the value of `valid_from` after a change now, if it was `present`. It grows with every change, so that a sign-in
 * between two changes in one second does not outlive the second change.
 */
export const validFromNow = (present: string): string =>
  `greatest(${present} + 1, floor(extract(epoch FROM clock_timestamp()))::bigint + 1)`;

/** SQL: whether the row that is overwritten has another status. */
export const statusChanged = 'present.status <> excluded.status';

/** SQL: where `condition` holds for the row that is overwritten, what was issued on its basis ends with this change. */
export function validFromAfter(condition: string): string {
  return `CASE WHEN ${condition} THEN ${validFromNow('present.valid_from')} ELSE present.valid_from END`;
}

/** Runs a statement of a tenant, whose id is its first value. */
export type Write = (name: string, text: string, ...values: unknown[]) => Promise<unknown>;

/** A change of records of one kind in a tenant. However many they are, it takes one statement per table. */
export type Command = (write: Write) => Promise<void>;
