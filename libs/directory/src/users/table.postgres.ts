import type { RecordTable } from '../fields/record-table.ts';
import { userColumns, type UserRecord } from './fields.ts';

/**
 * People, page by page in the order of the first of their identifiers. They are searched by `searchPeople`. Each is
 * looked at by the index, whatever the planner thinks of their number: a plan that was made while the tables were small
 * is kept until they are analyzed, and as a join it compared all identifiers with each other.
 */
export const userTable: RecordTable<UserRecord> = {
  from: 'directory.user_account u',
  alias: 'u',
  key: 'user_id',
  isDated: true,
  selected: userColumns.selected,
  read: userColumns.read,
  page: (selected) => `
    SELECT ${selected}, i.identifier AS position
      FROM (SELECT i.identifier, i.user_id FROM directory.user_identifier i
             WHERE i.tenant_id = $1 AND i.identifier COLLATE "C" > $2 AND $3::text = '' AND i.identifier COLLATE "C" = (
                   SELECT min(own.identifier COLLATE "C") FROM directory.user_identifier own
                    WHERE own.tenant_id = i.tenant_id AND own.user_id = i.user_id)
             ORDER BY i.identifier COLLATE "C" LIMIT $4) i
     CROSS JOIN LATERAL (
           SELECT u.*, u.xmin FROM directory.user_account u WHERE u.tenant_id = $1 AND u.user_id = i.user_id LIMIT 1) u
     ORDER BY i.identifier COLLATE "C"`,
};
