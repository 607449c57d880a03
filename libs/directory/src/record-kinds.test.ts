import { expect, test } from 'vitest';
import { tenant } from './declared/schema.ts';
import { tenantFields } from './tenants/fields.ts';
import { listedKinds, recordKinds, recordName } from './record-kinds.ts';

test('every list of the declared state has a kind, in the same order', () => {
  const lists = Object.keys(tenant.shape).filter((key) => key !== 'id' && !(key in tenantFields));
  expect(listedKinds.map((kind) => recordKinds[kind].list)).toEqual(lists);
});

test('a record is named as in the declared state', () => {
  expect(recordName('user', { userId: 'usr_1', username: 'ada' })).toBe('ada');
  expect(recordName('resource', { audience: 'https://orders.example' })).toBe('https://orders.example');
});
