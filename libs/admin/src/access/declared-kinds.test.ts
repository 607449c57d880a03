import { PlannedRecordSchema } from '@tessera/proto-gen/plan';
import { expect, it } from 'vitest';
import { declaredKinds } from './declared-kinds.ts';

it('of every kind that a plan describes it is known what a record gives', () => {
  expect([...declaredKinds.keys()].toSorted()).toEqual(
    PlannedRecordSchema.fields.map(({ localName }) => localName).toSorted(),
  );
});
