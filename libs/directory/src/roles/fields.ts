import { builtInPrefix } from '@tessera/oauth';
import { field, type RecordOf } from '../fields/field.ts';
import { line } from '../fields/values.ts';

/** A role in the declared state, which is its name. */
export const role = line(100).refine(
  (name) => !name.startsWith(builtInPrefix),
  `must not begin with ${builtInPrefix}, which is for built-in roles`,
);

export const roleFields = { name: field({ schema: role, stored: 'text', reference: 'its name' }) };

export interface RoleRecord extends RecordOf<typeof roleFields> {
  /** Who changes the record. */
  readonly owner: string;
}
