import { testDatabase } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { migrations } from '../../wiring.ts';
import { createUsedValues } from './used-values.postgres.ts';

it('lets one of 20 racing callers use a value, and forgets it once it has expired', async () => {
  const database = await testDatabase(migrations);
  const used = createUsedValues(database);
  const race = async (lifetimeSeconds: number) =>
    Promise.all(Array.from({ length: 20 }, () => used.use(['answer', 'acme'], lifetimeSeconds)));
  expect((await race(-1)).filter(Boolean)).toHaveLength(1);
  expect(await used.use(['answer', 'globex'], 60)).toBe(true);
  expect(await used.purge(10)).toBe(1);
  expect((await race(60)).filter(Boolean)).toHaveLength(1);
  expect(await used.purge(10)).toBe(0);
});
