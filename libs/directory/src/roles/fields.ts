import { builtInPrefix } from '@tessera/oauth';
import { line } from '../fields/values.ts';

/** A role in the declared state, which is its name. */
export const role = line(100).refine(
  (name) => !name.startsWith(builtInPrefix),
  `must not begin with ${builtInPrefix}, which is for built-in roles`,
);

export interface RoleRecord {
  readonly name: string;
  /** Who changes the record. */
  readonly owner: string;
}
