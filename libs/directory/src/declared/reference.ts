import { applicationReference } from '../applications/fields.ts';
import type { ReferenceRow } from '../fields/field.ts';
import { providerReference } from '../providers/fields.ts';
import { resourceReference } from '../resources/fields.ts';
import { userReference } from '../users/fields.ts';
import { fileReference, tenantReference } from './schema.ts';

/** The keys of the declared state by kind, for the tables of README.md and the JSON Schema. */
export const reference: Readonly<Record<string, readonly ReferenceRow[]>> = {
  file: fileReference,
  tenants: tenantReference,
  resources: resourceReference,
  providers: providerReference,
  users: userReference,
  applications: applicationReference,
};
