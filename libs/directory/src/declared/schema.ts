import { z } from 'zod';
import { referenceOf, shapeOf, type Key } from '../fields/field.ts';
import {
  byList,
  listedKinds,
  recordKinds,
  type ByList,
  type Kind,
  type ListedKind,
} from '../record-kinds.ts';
import { line } from '../fields/values.ts';
import { owner } from '../fields/owner.ts';
import { tenantFields, tenantId } from '../tenants/fields.ts';

/** A key with the list of each kind. */
type ListKeys = ByList<{
  readonly [K in ListedKind]: Key<z.ZodDefault<z.ZodArray<(typeof recordKinds)[K]['entry']>>>;
}>;

const lists = byList((kind) => {
  const { entry, most = Infinity, reference } = recordKinds[kind];
  const list = z.array(entry);
  const schema = most === Infinity ? list : list.max(most);
  return { schema: schema.default([]), reference: reference === undefined ? 'list of names' : 'list' };
}) as unknown as ListKeys;

const tenantKeys = {
  id: tenantId,
  ...tenantFields,
  name: {
    schema: line(200).optional(),
    reference:
      'text; without it the entry refers to a tenant that [another owner](#owners) declares, and has none of the keys from here to `resources`',
  },
  ...lists,
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
