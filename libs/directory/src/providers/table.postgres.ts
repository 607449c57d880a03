import { pageByKey, type RecordTable } from '../fields/record-table.ts';
import { providerColumns, type ProviderRecord } from './fields.ts';

const place = { from: 'directory.provider p', alias: 'p', key: 'name' };

/** Providers, page by page in the order of their names. */
export const providerTable: RecordTable<ProviderRecord> = {
  ...place,
  isDated: false,
  selected: providerColumns.selected,
  read: providerColumns.read,
  page: pageByKey({ ...place, name: 'display_name' }),
};
