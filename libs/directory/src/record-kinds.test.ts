import { TenantContentsSchema } from '@tessera/proto-gen/admin-tenants';
import { PlannedRecordSchema } from '@tessera/proto-gen/plan';
import { expect, test } from 'vitest';
import { tenant } from './declared/schema.ts';
import { countedContents } from './store/tenant-contents.postgres.ts';
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

test('a plan can be described of every kind', () => {
  expect(PlannedRecordSchema.fields.map(({ localName }) => localName).toSorted()).toEqual(
    Object.keys(recordKinds).toSorted(),
  );
});

test('records of every kind are counted where a tenant is deleted with them', () => {
  expect(Object.keys(countedContents(() => 1)).toSorted()).toEqual(
    TenantContentsSchema.fields.map(({ localName }) => localName).toSorted(),
  );
});
