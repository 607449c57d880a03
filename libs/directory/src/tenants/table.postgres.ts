import { isFoundIn, upTo, type RecordTable } from '../fields/record-table.ts';
import { tenantColumns, type TenantRecord } from './fields.ts';

/** Tenants, page by page in the order of their identifiers; a page is not that of a tenant. */
export const tenantTable: RecordTable<TenantRecord> = {
  from: 'directory.tenant t',
  alias: 't',
  key: 'tenant_id',
  isDated: true,
  selected: tenantColumns.selected,
  read: tenantColumns.read,
  page: (selected, end) => `
    SELECT ${selected}, t.tenant_id AS position FROM directory.tenant t
     WHERE $1 = '' AND t.tenant_id > $2 ${upTo('t.tenant_id', end)}
       AND ${isFoundIn(`t.tenant_id || ' ' || t.name`)}
     ORDER BY t.tenant_id LIMIT $4`,
};
