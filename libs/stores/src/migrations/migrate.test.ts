import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  eventually,
  newDatabaseUrl,
  newDatabaseUrlInEncoding,
  testEmbeddedDatabase,
} from '@tessera/test-kit';
import { afterAll, describe, expect, it } from 'vitest';
import { createLogger } from '@tessera/telemetry';
import type { OpenedDatabase } from '../database.ts';
import { migrate, requireUtf8 } from './migrate.ts';
import type { Migrations } from './migrate.ts';
import { openDatabase } from '../postgres/postgres.ts';

const log = createLogger({ service: 'test', level: 'silent' });
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

async function files(contents: Record<string, string>): Promise<Migrations> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-migrations-'));
  closing.push(() => rm(directory, { recursive: true }));
  await mkdir(directory, { recursive: true });
  for (const [name, sql] of Object.entries(contents)) await writeFile(join(directory, name), sql);
  return { schema: 'sample', directory: pathToFileURL(`${directory}/`) };
}

function keep(database: OpenedDatabase): OpenedDatabase {
  closing.push(() => database.close());
  return database;
}

const first = `CREATE TABLE sample.thing (id text PRIMARY KEY);
CREATE FUNCTION sample.noise() RETURNS text LANGUAGE sql AS $$ SELECT 'a;b' $$;
`;
const second = `ALTER TABLE sample.thing ADD COLUMN name text;
INSERT INTO sample.thing VALUES ('one', sample.noise());
`;

async function read(database: OpenedDatabase, text: string): Promise<unknown[]> {
  return (await database.query({ name: `test.${text}`.slice(0, 60), text })).rows;
}

/** One serves all, emptied in between. */
let embedded: OpenedDatabase | undefined;

async function emptyEmbedded(): Promise<OpenedDatabase> {
  embedded ??= await testEmbeddedDatabase();
  await embedded.migration((session) => session.run('DROP SCHEMA IF EXISTS sample CASCADE'));
  return embedded;
}

const engines = [
  { name: 'Postgres', open: async () => keep(await openDatabase({ url: await newDatabaseUrl() })) },
  { name: 'PGlite', open: emptyEmbedded },
];

describe.each(engines)('migrate on $name', ({ open }) => {
  it('applies the files in order, once, and later ones too', async () => {
    const database = await open();
    await migrate(database, await files({ '0001_things.sql': first }), log);
    const both = await files({ '0002_names.sql': second, '0001_things.sql': first, 'README.md': 'no SQL' });
    await migrate(database, both, log);
    await migrate(database, both, log);
    expect(await read(database, 'SELECT id, name FROM sample.thing')).toEqual([{ id: 'one', name: 'a;b' }]);
    expect(await read(database, 'SELECT version, name FROM sample.schema_migration ORDER BY 1')).toEqual([
      { version: 1, name: '0001_things.sql' },
      { version: 2, name: '0002_names.sql' },
    ]);
  });

  it('runs a file outside a transaction statement by statement, and from the first again after one that failed', async () => {
    const database = await open();
    const index = (last: string) => `-- Outside a transaction.
DROP INDEX CONCURRENTLY IF EXISTS sample.thing_name;
CREATE INDEX CONCURRENTLY thing_name
  ON sample.thing (name);
${last}`;
    const before = { '0001_things.sql': first, '0002_names.sql': second };
    const failing = await files({ ...before, '0003_index.sql': index('SELECT 1 / 0;\n') });
    await expect(migrate(database, failing, log)).rejects.toThrow('Migration sample/0003_index.sql failed');
    const whole = await files({ ...before, '0003_index.sql': index('') });
    await migrate(database, whole, log);
    await migrate(database, whole, log);
    expect(
      await read(
        database,
        `SELECT indisvalid FROM pg_index WHERE indexrelid = 'sample.thing_name'::regclass`,
      ),
    ).toEqual([{ indisvalid: true }]);
    expect(await read(database, 'SELECT max(version) AS version FROM sample.schema_migration')).toEqual([
      { version: 3 },
    ]);
  });

  it('accepts a database that is ahead of the code, so that the previous version can run alongside the new one', async () => {
    const database = await open();
    await migrate(database, await files({ '0001_things.sql': first, '0002_names.sql': second }), log);
    await migrate(database, await files({ '0001_things.sql': first }), log);
  });

  it('in the mode `wait` changes nothing: it throws `temporarily_unavailable` until another has applied what is missing', async () => {
    const database = await open();
    const one = await files({ '0001_things.sql': first });
    const two = await files({ '0001_things.sql': first, '0002_names.sql': second });
    await expect(migrate(database, one, log, 'wait')).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    expect(await read(database, "SELECT to_regnamespace('sample') AS schema")).toEqual([{ schema: null }]);
    await migrate(database, one, log);
    await migrate(database, one, log, 'wait');
    await expect(migrate(database, two, log, 'wait')).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    await migrate(database, two, log);
    await migrate(database, one, log, 'wait');
  });

  it('refuses a file that was changed after it was applied, except for its line endings', async () => {
    const database = await open();
    await migrate(database, await files({ '0001_things.sql': first }), log);
    await migrate(database, await files({ '0001_things.sql': first.replaceAll('\n', '\r\n') }), log);
    const changed = await files({ '0001_things.sql': `${first}-- changed` });
    await expect(migrate(database, changed, log)).rejects.toThrow(
      'Migration sample/0001_things.sql was changed after it had been applied. Restore the file and put the change into a new one.',
    );
  });

  it('leaves nothing of a file that fails, and can be run again', async () => {
    const database = await open();
    const broken = await files({ '0001_things.sql': first, '0002_names.sql': `${second}SELECT nonsense;` });
    await expect(migrate(database, broken, log)).rejects.toThrow(
      /Migration sample\/0002_names\.sql failed and left nothing behind: column "nonsense" does not exist/,
    );
    expect(await read(database, 'SELECT * FROM sample.thing')).toEqual([]);
    await migrate(database, await files({ '0001_things.sql': first, '0002_names.sql': second }), log);
    expect(await read(database, 'SELECT id FROM sample.thing')).toEqual([{ id: 'one' }]);
  });

  it('refuses names without a number and numbers that are used twice', async () => {
    const database = await open();
    await expect(migrate(database, await files({ 'things.sql': first }), log)).rejects.toThrow(
      /not named NNNN_name/,
    );
    const twice = await files({ '0001_a.sql': first, '0001_b.sql': second });
    await expect(migrate(database, twice, log)).rejects.toThrow(/have the number 1/);
  });

  it('refuses a wrapped database', async () => {
    const { engine, query, transaction, listen, close } = await open();
    const wrapper = { engine, query, transaction, listen, close };
    await expect(migrate(wrapper, await files({}), log)).rejects.toThrow(/not a wrapper/);
  });
});

describe('migrate on Postgres', () => {
  it('applies each file once when twenty processes start at the same time', async () => {
    const url = await newDatabaseUrl();
    const slow = await files({
      '0001_things.sql': `${first}SELECT pg_sleep(1.2);`,
      '0002_names.sql': second,
    });
    const processes = await Promise.all(
      Array.from({ length: 20 }, async () =>
        keep(
          await openDatabase({ url, maxConnections: 1, statementTimeoutMs: 1000, acquireTimeoutMs: 10_000 }),
        ),
      ),
    );
    await Promise.all(processes.map((database) => migrate(database, slow, log)));
    const [database] = processes;
    expect(database && (await read(database, 'SELECT id FROM sample.thing'))).toEqual([{ id: 'one' }]);
  });

  it('makes an index without stopping writers, once, when several processes start at the same time', async () => {
    const url = await newDatabaseUrl();
    const one = { '0001_things.sql': first };
    const index = `-- Outside a transaction.\nCREATE INDEX CONCURRENTLY thing_id ON sample.thing (id);\n`;
    const both = await files({ ...one, '0002_index.sql': index });
    const processes = await Promise.all(
      Array.from({ length: 4 }, async () => keep(await openDatabase({ url, statementTimeoutMs: 15_000 }))),
    );
    const [writer, ...others] = processes;
    if (writer === undefined) throw new Error('there is no process');
    await migrate(writer, await files(one), log);
    let made: Promise<unknown> = Promise.resolve();
    await writer.transaction(async (tx) => {
      // The index waits for this transaction, and nobody waits for the index.
      await tx.query({ name: 'test.write', text: `INSERT INTO sample.thing VALUES ('before')` });
      made = Promise.all(others.map((database) => migrate(database, both, log)));
      const [other] = others;
      await eventually(
        'the index is being made',
        async () =>
          (await read(other ?? writer, `SELECT 1 FROM pg_class WHERE relname = 'thing_id'`)).length > 0,
      );
      await other?.query({ name: 'test.write_too', text: `INSERT INTO sample.thing VALUES ('meanwhile')` });
    });
    await made;
    expect(await read(writer, 'SELECT count(*)::int AS count FROM sample.thing')).toEqual([{ count: 2 }]);
  });

  it('gives up soon, and with nothing done, when running statements hold a lock it needs', async () => {
    const url = await newDatabaseUrl();
    const database = keep(await openDatabase({ url, statementTimeoutMs: 15_000 }));
    const one = { '0001_things.sql': first };
    await migrate(database, await files(one), log);
    const other = keep(await openDatabase({ url, statementTimeoutMs: 15_000 }));
    await other.transaction(async (tx) => {
      await tx.query({ name: 'test.hold', text: 'LOCK TABLE sample.thing IN ACCESS SHARE MODE' });
      const blocked = migrate(database, await files({ ...one, '0002_names.sql': second }), log);
      await expect(blocked).rejects.toMatchObject({
        code: 'temporarily_unavailable',
        cause: { code: '55P03' },
      });
    });
    await migrate(database, await files({ ...one, '0002_names.sql': second }), log);
    expect(await read(database, 'SELECT id FROM sample.thing')).toEqual([{ id: 'one' }]);
  });

  /**
   * A role of its own in a new database, with no right but to connect; answers how to be it and how to be the owner.
   */
  async function limitedRole(name: string) {
    const url = await newDatabaseUrl();
    const owner = keep(await openDatabase({ url }));
    const role = `tessera_test_${name}_${process.pid}`;
    const as = (sql: string) => owner.migration((session) => session.run(sql));
    await as(`CREATE ROLE ${role} LOGIN PASSWORD 'password'`);
    closing.push(() => as(`DROP OWNED BY ${role}; DROP ROLE ${role}`));
    const limited = new URL(url);
    limited.username = role;
    limited.password = 'password';
    const database = keep(await openDatabase({ url: limited.href }));
    return { owner, database, role, as };
  }

  it('works for a role that may not create schemas in a schema that was made for it', async () => {
    const { database, role, as } = await limitedRole('tenant');
    await as(`CREATE SCHEMA sample AUTHORIZATION ${role}`);
    await migrate(database, await files({ '0001_things.sql': first }), log);
    expect(await read(database, 'SELECT id FROM sample.thing')).toEqual([]);
  });

  it('names the role that lacks a privilege, and the GRANT or the role that has it', async () => {
    const { owner, database, role, as } = await limitedRole('stranger');
    const one = await files({ '0001_things.sql': first });
    const two = await files({ '0001_things.sql': first, '0002_names.sql': second });
    const [names] = await read(owner, 'SELECT quote_ident(current_user) AS me, current_database() AS db');
    const { me, db } = names as { me: string; db: string };
    await expect(migrate(database, one, log)).rejects.toThrow(
      `The role ${role} may not make the schema sample: permission denied for database ${db}. ` +
        `Run GRANT CREATE ON DATABASE ${db} TO ${role}, or migrate as another role.`,
    );
    await migrate(owner, one, log);
    await expect(migrate(database, one, log, 'wait')).rejects.toThrow(
      `The role ${role} may not read the schema sample: permission denied for schema sample. ` +
        `Run as its owner, ${me}: GRANT USAGE ON SCHEMA sample TO ${role}; ` +
        `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sample TO ${role}; ` +
        `GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA sample TO ${role}.`,
    );
    await as(
      `GRANT USAGE ON SCHEMA sample TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA sample TO ${role}`,
    );
    await migrate(database, one, log, 'wait');
    await expect(migrate(database, two, log)).rejects.toThrow(
      `The role ${role} may not change the schema sample: must be owner of table thing. ` +
        `Migrate as its owner, ${me}, and start the processes of ${role} with TESSERA_MIGRATIONS=wait.`,
    );
  });
});

describe('the encoding of a database', () => {
  it.each(['SQL_ASCII', 'LATIN1'])(
    'migrates nothing in a database in %s, and says how to create another',
    async (encoding) => {
      const url = await newDatabaseUrlInEncoding(encoding);
      const database = keep(await openDatabase({ url }));
      const name = new URL(url).pathname.slice(1);
      for (const mode of ['apply', 'wait'] as const)
        await expect(migrate(database, await files({ '0001_things.sql': first }), log, mode)).rejects.toThrow(
          `The database ${name} has the encoding ${encoding}, and Tessera needs UTF8. No database changes its encoding: ` +
            `drop it, if it holds nothing else, and run CREATE DATABASE ${name} ENCODING 'UTF8' LOCALE 'C' TEMPLATE ` +
            `template0; or let DATABASE_URL name another one that was created so.`,
        );
      expect(await read(database, "SELECT to_regnamespace('sample') AS schema")).toEqual([{ schema: null }]);
    },
  );

  it('takes a database in UTF8', async () => {
    await requireUtf8(keep(await openDatabase({ url: await newDatabaseUrl() })));
  });
});
