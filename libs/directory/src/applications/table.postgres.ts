import { pageByKey, type RecordTable } from '../fields/record-table.ts';
import { readApplication, selectedOfApplication } from './read.postgres.ts';
import type { ApplicationRecord } from './fields.ts';

const place = { from: 'directory.application a', alias: 'a', key: 'client_id' };

/** Applications, page by page in the order of their client IDs. */
export const applicationTable: RecordTable<ApplicationRecord> = {
  ...place,
  isDated: true,
  selected: selectedOfApplication,
  read: readApplication,
  page: pageByKey({ ...place, name: 'name' }),
};
