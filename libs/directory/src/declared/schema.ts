import { z } from 'zod';
import { application } from '../applications/fields.ts';
import { referenceOf, shapeOf } from '../fields/field.ts';
import { listedKinds, recordKinds, type Kind } from '../fields/record-kinds.ts';
import { provider } from '../providers/fields.ts';
import { resource } from '../resources/fields.ts';
import { role } from '../roles/fields.ts';
import { line } from '../fields/values.ts';
import { owner } from '../fields/owner.ts';
import { tenantFields, tenantId } from '../tenants/fields.ts';
import { user } from '../users/fields.ts';

const tenantKeys = {
  id: tenantId,
  ...tenantFields,
  name: {
    schema: line(200).optional(),
    reference:
      'text; without it the entry refers to a tenant that [another owner](#owners) declares, and has none of the keys from here to `resources`',
  },
  resources: { schema: z.array(resource).default([]), reference: 'list' },
  roles: { schema: z.array(role).default([]), reference: 'list of names' },
  providers: { schema: z.array(provider).max(50).default([]), reference: 'list' },
  users: { schema: z.array(user).default([]), reference: 'list' },
  applications: { schema: z.array(application).default([]), reference: 'list' },
};

export const tenant = z.strictObject(shapeOf(tenantKeys));
export const tenantReference = referenceOf(tenantKeys);

const fileKeys = {
  owner: {
    schema: owner.optional(),
    reference: 'who declares the records ([owners](#owners)), unless `--owner` says it; default: `file`',
  },
  tenants: { schema: z.array(tenant), reference: 'list' },
};

/** The whole file. Every key that is not named here is refused. */
export const declaredState = z.strictObject(shapeOf(fileKeys));
export const fileReference = referenceOf(fileKeys);

export type DeclaredState = z.infer<typeof declaredState>;
export type DeclaredTenant = DeclaredState['tenants'][number];

/** The kinds of records that tenants declare. An entry without a name leaves the tenant itself as it is. */
export function kindsOf(tenants: readonly DeclaredTenant[]): Kind[] {
  const listed = listedKinds.filter((kind) =>
    tenants.some((tenant) => tenant[recordKinds[kind].list].length > 0),
  );
  const namesTenant = tenants.some(({ name }) => name !== undefined);
  return [...(namesTenant ? (['tenant'] as const) : []), ...listed];
}
