import type { RecordTable } from '../fields/record-table.ts';
import { userColumns, type UserRecord } from './fields.ts';

/** People, page by page in the order of the first of their identifiers. They are searched by `searchPeople`. */
export const userTable: RecordTable<UserRecord> = {
  from: 'directory.user_account u',
  alias: 'u',
  key: 'user_id',
  isDated: true,
  selected: userColumns.selected,
  read: userColumns.read,
  page: (selected) => `
    SELECT ${selected}, i.identifier AS position
      FROM directory.user_identifier i
      JOIN directory.user_account u ON u.tenant_id = i.tenant_id AND u.user_id = i.user_id
     WHERE i.tenant_id = $1 AND i.identifier COLLATE "C" > $2 AND $3::text = ''
       AND NOT EXISTS (SELECT FROM directory.user_identifier earlier
                        WHERE earlier.tenant_id = i.tenant_id AND earlier.user_id = i.user_id
                          AND earlier.identifier COLLATE "C" < i.identifier COLLATE "C")
     ORDER BY i.identifier COLLATE "C" LIMIT $4`,
};
