import { pageByKey, type RecordTable } from '../fields/record-table.ts';
import { resourceColumns, type ResourceRecord } from './fields.ts';

const place = { from: 'directory.api_resource r', alias: 'r', key: 'audience' };

/** API resources, page by page in the order of their audiences. */
export const resourceTable: RecordTable<ResourceRecord> = {
  ...place,
  isDated: false,
  selected: resourceColumns.selected,
  read: resourceColumns.read,
  page: pageByKey({ ...place, name: 'name' }),
};
