import { adminRoles } from '@tessera/oauth';
import { pageByKey, type RecordTable } from '../fields/record-table.ts';
import type { RoleRecord } from './fields.ts';

/**
 * SQL: the roles of tenants that are records. The built-in ones have rows too, where people have them, so that every
 * role of a person refers to a row.
 */
const roleRecords = `(SELECT xmin, tenant_id, name, owner FROM directory.role
  WHERE name NOT IN (${[...adminRoles.keys()].map((name) => `'${name}'`).join(', ')}))`;

const place = { from: `${roleRecords} ro`, alias: 'ro', key: 'name' };

/** Roles, page by page in the order of their names. */
export const roleTable: RecordTable<RoleRecord> = {
  ...place,
  isDated: false,
  selected: 'ro.name, ro.owner',
  read: (row) => ({ name: String(row['name']), owner: String(row['owner']) }),
  page: pageByKey({ ...place, name: 'name' }),
};
