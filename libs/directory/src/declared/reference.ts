import { applicationReference } from '../applications/fields.ts';
import type { ReferenceRow } from '../fields/field.ts';

/** The keys of the declared state by kind, for the tables of README.md. */
export const reference: Readonly<Record<string, readonly ReferenceRow[]>> = {
  applications: applicationReference,
};
