import { line } from '../fields/values.ts';

/** A role in the declared state, which is its name. */
export const role = line(100);

export interface RoleRecord {
  readonly name: string;
  /** Who changes the record. */
  readonly owner: string;
}
