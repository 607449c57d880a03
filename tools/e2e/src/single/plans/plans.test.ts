import { installedDatabaseUrl } from '@tessera/test-kit';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fillTables, smallTables } from './large-tables.ts';
import { tablesReadWhole } from './plans.ts';
import {
  namesInSources,
  namesWithout,
  recordStatements,
  type RecordedStatement,
} from './recorded-statements.ts';

/** Rows of the largest tables: the planner decides as with a million, which `TESSERA_TEST_ROWS=1000000` fills. */
const tableRows = Number(process.env['TESSERA_TEST_ROWS'] ?? 20_000);

/** Statements that read a whole table on purpose, and why that is no harm. */
const readsAll: Readonly<Record<string, string>> = {
  'directory.tenant_ids': 'lists the tenants',
  'directory.tenant_issuers': 'lists the tenants',
  'directory.declared_uses': 'reads the index of the few applications that declare something',
  'directory.bump_epoch': 'ends the tokens of all tenants after a restore',
  'directory.record_pepper': 'asks whether there is any row',
};

describe(`statements on tables of ${tableRows.toLocaleString('en')} rows`, () => {
  let client: Client;
  let statements: readonly RecordedStatement[];

  beforeAll(async () => {
    const url = await installedDatabaseUrl();
    client = new Client({ connectionString: url });
    await client.connect();
    await fillTables(client, tableRows);
    statements = await recordStatements();
  });
  afterAll(() => client?.end());

  it('are all known: the tests of the stores run every statement of the sources', () => {
    expect(namesInSources().length).toBeGreaterThan(50);
    expect(namesWithout(statements).map(String)).toEqual([]);
  });

  it('fill every table that can grow', async () => {
    const { rows } = await client.query<{ readonly name: string }>(
      `SELECT schemaname || '.' || relname AS name FROM pg_stat_user_tables WHERE n_live_tup < 100`,
    );
    const empty = rows.map(({ name }) => name).filter((name) => !name.endsWith('.schema_migration'));
    expect(empty.filter((name) => !smallTables.has(name))).toEqual([]);
  });

  it('use an index', async () => {
    const problems: string[] = [];
    for (const statement of statements) {
      if (statement.name in readsAll) continue;
      const whole = await tablesReadWhole(client, statement);
      if (whole.length > 0) problems.push(`${statement.name} reads all of ${whole.join(', ')}`);
    }
    expect(problems).toEqual([]);
  });

  it('would be found reading a whole table, as a purge by clock_timestamp() does', async () => {
    const purge = `DELETE FROM token.redemption WHERE redeemed_at < clock_timestamp() - interval '1 day'`;
    const readWhole = (text: string) => tablesReadWhole(client, { text });
    expect(await readWhole(purge)).toEqual(['token.redemption']);
    expect(await readWhole(purge.replace('clock_timestamp', 'statement_timestamp'))).toEqual([]);
    expect(await readWhole(`SELECT * FROM token.redemption LIMIT 1`)).toEqual([]);
    const sorted = `SELECT * FROM token.redemption ORDER BY family_id LIMIT 1`;
    expect(await readWhole(sorted)).toEqual(['token.redemption']);
    const searching = `SELECT * FROM token.redemption WHERE family_id IS NULL ORDER BY redeemed_at LIMIT 1`;
    expect(await readWhole(searching)).toEqual(['token.redemption']);
  });
});
