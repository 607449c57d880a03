import { pageByKey, type RecordTable } from '../fields/record-table.ts';
import type { RoleRecord } from './fields.ts';
import { roleRecords } from './read.postgres.ts';

const place = { from: `${roleRecords} ro`, alias: 'ro', key: 'name' };

/** Roles, page by page in the order of their names. */
export const roleTable: RecordTable<RoleRecord> = {
  ...place,
  isDated: false,
  selected: 'ro.name, ro.owner',
  read: (row) => ({ name: String(row['name']), owner: String(row['owner']) }),
  page: pageByKey({ ...place, name: 'name' }),
};
