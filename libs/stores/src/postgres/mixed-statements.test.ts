import { newDatabaseUrl } from '@tessera/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { openDatabase } from './postgres.ts';
import { remedyFor } from '../store-errors.ts';

/**
 * A database that gives each session a prepared statement of somebody else, as a pooler does that lends sessions for a
 * transaction and does not know who prepared what.
 */
async function mixedUp(statement: string): Promise<string> {
  const url = await newDatabaseUrl();
  const owner = await openDatabase({ url });
  onTestFinished(() => owner.close());
  await owner.migration((session) =>
    session.run(`
      CREATE FUNCTION lend() RETURNS event_trigger LANGUAGE plpgsql AS $$
        BEGIN EXECUTE 'PREPARE "${statement}" AS SELECT 1'; END $$;
      CREATE EVENT TRIGGER lending ON login EXECUTE FUNCTION lend()`),
  );
  return url;
}

it('a statement that a pooler mixed up is temporarily_unavailable, with what to change (SQLSTATE 42P05)', async () => {
  const database = await openDatabase({ url: await mixedUp('test.mixed') });
  onTestFinished(() => database.close());
  const refused = await database
    .query({ name: 'test.mixed', text: 'SELECT 2' })
    .then(() => undefined)
    .catch((error: unknown) => error as Error);
  expect(refused).toMatchObject({ code: 'temporarily_unavailable', cause: { code: '42P05' } });
  expect(remedyFor(refused?.cause)).toMatch(/PgBouncer 1\.21 or later with max_prepared_statements/);
});

it('a statement that is gone from the session is prepared anew, and has the same advice (SQLSTATE 26000)', async () => {
  const database = await openDatabase({ url: await newDatabaseUrl(), maxConnections: 1 });
  onTestFinished(() => database.close());
  const ask = () => database.query<{ a: number }>({ name: 'test.gone', text: 'SELECT 2 AS a' });
  await ask();
  await database.query({ name: 'test.forget', text: 'DEALLOCATE ALL' });
  expect((await ask()).rows).toEqual([{ a: 2 }]);
  expect(remedyFor(Object.assign(new Error('gone'), { code: '26000', severity: 'ERROR' }))).toContain(
    'PgBouncer',
  );
});
