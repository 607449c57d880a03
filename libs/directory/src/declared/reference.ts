import type { ReferenceRow } from '../fields/field.ts';
import { listedKinds, recordKinds } from '../record-kinds.ts';
import { fileReference, tenantReference } from './schema.ts';

/** The keys of the declared state by kind, for the tables of README.md and the JSON Schema. */
export const reference: Readonly<Record<string, readonly ReferenceRow[]>> = {
  file: fileReference,
  tenants: tenantReference,
  ...Object.fromEntries(
    listedKinds.flatMap((kind) => {
      const { list, reference: rows } = recordKinds[kind];
      return rows === undefined ? [] : [[list, rows]];
    }),
  ),
};
