import { notListening, type Database, type Queryable } from '@tessera/stores';
import { expect, test } from 'vitest';
import { counting } from './counting.ts';

const queryable: Queryable = { query: () => Promise.resolve({ rows: [], rowCount: 0 }) };
const database: Database = {
  ...queryable,
  engine: 'postgres',
  transaction: (work) => work(queryable),
  listen: () => notListening,
  close: () => Promise.resolve(),
};

test('a counted database counts each statement and both ends of a transaction', async () => {
  const counted = counting(database);
  await counted.query({ name: 'a', text: '' });
  await counted.transaction((tx) => tx.query({ name: 'b', text: '' }));
  expect(counted.names).toEqual(['a', 'BEGIN', 'b', 'COMMIT']);
  expect(counted.count).toBe(4);
  counted.reset();
  expect(counted.count).toBe(0);
});

test('a counted Redis counts commands and scripts, not the making of a script', async () => {
  const counted = counting({
    call: () => Promise.resolve('OK'),
    script: () => () => Promise.resolve(1),
    spansSlots: true,
    close: () => Promise.resolve(),
  });
  const take = counted.script({ name: 'take', lua: '' });
  expect(counted.count).toBe(0);
  await take(['k'], []);
  await counted.call('GET', 'k');
  expect(counted.names).toEqual(['take', 'GET']);
});
