import type { TenantContents as Sent } from '@tessera/proto-gen/admin-tenants';
import type { Queryable } from '@tessera/stores';
import { listedKinds, recordKinds, type ListedKind } from '../record-kinds.ts';

/** How many records of each kind a tenant has. */
export type TenantContents = Omit<Sent, '$typeName' | '$unknown'>;

/** @param countOf the number of each kind */
export function countedContents(countOf: (kind: ListedKind) => number): TenantContents {
  const counts = listedKinds.map((kind) => [countedAs(kind), countOf(kind)]);
  return Object.fromEntries(counts) as TenantContents;
}

function countedAs(kind: ListedKind): string {
  return kind === 'user' ? 'people' : recordKinds[kind].list;
}

/** SQL: what is selected of the records of a kind in the tenant $1. */
function ofTenant(kind: ListedKind, selected: (alias: string) => string): string {
  const { from, alias } = recordKinds[kind].table;
  return `SELECT ${selected(alias)} FROM ${from} WHERE ${alias}.tenant_id = $1`;
}

export async function contentsOf(tx: Queryable, tenantId: string): Promise<TenantContents> {
  const counts = listedKinds.map(
    (kind) => `(${ofTenant(kind, () => 'count(*)::int')}) AS ${countedAs(kind)}`,
  );
  const { rows } = await tx.query<TenantContents & Record<string, unknown>>({
    name: 'directory.tenant_contents',
    text: `SELECT ${counts.join(', ')}`,
    values: [tenantId],
  });
  const [found] = rows;
  if (found === undefined) throw new Error('The count of a tenant has no row.');
  return found;
}

/** The first ten owners, but this one, of what is in a tenant. */
export async function otherOwnersIn(tx: Queryable, tenantId: string, owner: string): Promise<string[]> {
  const owners = listedKinds.map((kind) => ofTenant(kind, (alias) => `${alias}.owner`));
  const { rows } = await tx.query<{ readonly owner: string }>({
    name: 'directory.owners_in_tenant',
    text: `SELECT DISTINCT owner FROM (${owners.join(' UNION ALL ')}) AS all_owners
            WHERE owner <> $2 ORDER BY owner LIMIT 10`,
    values: [tenantId, owner],
  });
  return rows.map(({ owner: other }) => other);
}

/** Whether a tenant has no record. */
export async function isEmpty(tx: Queryable, tenantId: string): Promise<boolean> {
  const none = listedKinds.map((kind) => `NOT EXISTS (${ofTenant(kind, () => '')})`);
  const { rows } = await tx.query<{ is_empty: boolean }>({
    name: 'directory.tenant_is_empty',
    text: `SELECT ${none.join(' AND ')} AS is_empty`,
    values: [tenantId],
  });
  return rows[0]?.is_empty ?? true;
}
