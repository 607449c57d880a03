import { inCall } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { OpenedDatabase } from './database.ts';
import { waitFor } from '@tessera/test-kit';

interface Engine {
  readonly name: string;
  /** An empty database; its opener closes it. */
  open(): Promise<OpenedDatabase>;
}

/** What services may rely on, whichever engine stands behind the handle. */
export function describeDatabase({ name, open }: Engine): void {
  describe(`a database on ${name}`, () => {
    let database: OpenedDatabase;
    beforeAll(async () => {
      database = await open();
      await database.migration((session) =>
        session.run(`CREATE TABLE account (id text PRIMARY KEY, amount bigint NOT NULL);
                     INSERT INTO account VALUES ('a', 0), ('b', 0)`),
      );
    });

    const amountOf = async (id: string) => {
      const { rows } = await database.query<{ amount: number }>({
        name: 'test.amount',
        text: 'SELECT amount FROM account WHERE id = $1',
        values: [id],
      });
      return rows[0]?.amount;
    };

    it('announces the changes of a record to its listeners once they are committed', async () => {
      await database.migration((session) =>
        session.run(`
          CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN PERFORM pg_notify('tessera_change', 'public.' || TG_TABLE_NAME); RETURN NULL; END $$;
          CREATE TABLE noted (id int);
          CREATE TRIGGER announce AFTER INSERT ON noted FOR EACH ROW EXECUTE FUNCTION announce()`),
      );
      const [heard, other] = [vi.fn<() => void>(), vi.fn<() => void>()];
      const listening = database.listen('public.noted', heard);
      database.listen('public.other', other);
      await waitFor(() => expect(listening.hears).toBe(true));
      const before = { heard: heard.mock.calls.length, other: other.mock.calls.length };
      await database.query({ name: 'test.note', text: 'INSERT INTO noted VALUES (1)' });
      await waitFor(() => expect(heard.mock.calls.length).toBe(before.heard + 1));
      listening.close();
      await database.query({ name: 'test.note', text: 'INSERT INTO noted VALUES (1)' });
      const again = vi.fn<() => void>();
      database.listen('public.noted', again);
      await database.query({ name: 'test.note', text: 'INSERT INTO noted VALUES (1)' });
      await waitFor(() => expect(again).toHaveBeenCalled());
      expect(heard.mock.calls.length).toBe(before.heard + 1);
      expect(other.mock.calls.length).toBe(before.other);
    });

    describeTypes(() => database);
    describeStatements(() => database);

    it('commits a transaction, and nothing of a failed one', async () => {
      const add = { name: 'test.add', text: `UPDATE account SET amount = amount + $1 WHERE id = 'a'` };
      await database.transaction((tx) => tx.query({ ...add, values: [5] }));
      expect(await amountOf('a')).toBe(5);
      const failure = new Error('changed my mind');
      const failed = database.transaction(async (tx) => {
        await tx.query({ ...add, values: [100] });
        throw failure;
      });
      await expect(failed).rejects.toBe(failure);
      expect(await amountOf('a')).toBe(5);
    });

    it('does not report a commit when a failed statement inside was ignored', async () => {
      const careless = database.transaction(async (tx) => {
        await tx.query({ name: 'test.lost', text: `UPDATE account SET amount = 77 WHERE id = 'b'` });
        await tx.query({ name: 'test.bad', text: 'SELECT 1 / 0' }).catch(() => undefined);
      });
      await expect(careless).rejects.toThrow();
      expect(await amountOf('b')).toBe(0);
    });

    it('loses no update of fifty transactions that read and write the same row at once', async () => {
      await Promise.all(
        Array.from({ length: 50 }, () =>
          database.transaction(async (tx) => {
            const { rows } = await tx.query<{ amount: number }>({
              name: 'test.lock',
              text: `SELECT amount FROM account WHERE id = 'b' FOR UPDATE`,
            });
            const amount = (rows[0]?.amount ?? 0) + 1;
            await tx.query({
              name: 'test.set',
              text: `UPDATE account SET amount = $1 WHERE id = 'b'`,
              values: [amount],
            });
          }),
        ),
      );
      expect(await amountOf('b')).toBe(50);
    });

    it('retries conflicts three times, then says that it is temporarily unavailable', async () => {
      let attempts = 0;
      const conflict = (until: number) =>
        database.transaction(async (tx) => {
          attempts += 1;
          const raise = `DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$`;
          if (attempts <= until) await tx.query({ name: 'test.conflict', text: raise });
          return attempts;
        });
      expect(await conflict(3)).toBe(4);
      attempts = 0;
      await expect(conflict(4)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
      expect(attempts).toBe(4);
    });

    it('refuses queries outside the transaction from within it, instead of waiting forever', async () => {
      await expect(database.transaction(() => amountOf('a'))).rejects.toThrow(/ask the handle/);
      await expect(database.transaction(() => database.transaction(async () => 1))).rejects.toThrow(
        /ask the handle/,
      );
      expect(await amountOf('a')).toBe(5);
    });

    it('is temporarily unavailable once closed, and can be closed twice', async () => {
      const other = await open();
      await Promise.all([other.close(), other.close()]);
      const asked = other.query({ name: 'test.one', text: 'SELECT 1' });
      await expect(asked).rejects.toSatisfy((error) => error instanceof OAuthError && error.status === 503);
    });
  });
}

function describeTypes(database: () => OpenedDatabase): void {
  it('reads types alike', async () => {
    const { rows } = await database().query({
      name: 'test.types',
      text: `SELECT 7::int AS int4, 9007199254740991::bigint AS int8, 1.50::numeric AS numeric, true AS flag,
                    '2026-01-02T03:04:05.678Z'::timestamptz AS at, '{"a":[1]}'::jsonb AS jsonb, '[1]'::json AS json,
                    '\\xdeadbeef'::bytea AS bytes, ARRAY['a','b,"c',NULL]::text[] AS texts, '2026-01-02'::date AS day,
                    ARRAY[1,2]::bigint[] AS numbers, NULL::text AS nothing, 'x'::text AS text, count(*) AS counted,
                    ARRAY['2026-01-02T03:04:05Z']::timestamptz[] AS times, '2026-01-02 03:04:05'::timestamp AS local`,
    });
    expect(rows).toEqual([
      {
        int4: 7,
        int8: Number.MAX_SAFE_INTEGER,
        numeric: '1.50',
        flag: true,
        at: new Date('2026-01-02T03:04:05.678Z'),
        jsonb: { a: [1] },
        json: [1],
        bytes: Buffer.from('deadbeef', 'hex'),
        texts: ['a', 'b,"c', null],
        day: '2026-01-02',
        numbers: [1, 2],
        nothing: null,
        text: 'x',
        counted: 1,
        times: [new Date('2026-01-02T03:04:05Z')],
        local: '2026-01-02 03:04:05',
      },
    ]);
    expect(Buffer.isBuffer(rows[0]?.['bytes'])).toBe(true);
  });

  it('writes types alike', async () => {
    const at = new Date('2026-01-02T03:04:05.678Z');
    const { rows } = await database().query({
      name: 'test.parameters',
      text: `SELECT $1::bigint AS int8, $2::timestamptz AS at, $3::jsonb AS jsonb, $4::bytea AS bytes,
                    $5::text[] AS texts, $6::text AS nothing, $7::boolean AS flag, $8::int AS int4, $9::bigint[] AS numbers`,
      values: [
        2 ** 40,
        at,
        '{"a":"\\"b"}',
        Buffer.from([0, 255]),
        ['x', 'y"z', null, '{}'],
        null,
        false,
        -1,
        [1, 2],
      ],
    });
    expect(rows).toEqual([
      {
        int8: 2 ** 40,
        at,
        jsonb: { a: '"b' },
        bytes: Buffer.from([0, 255]),
        texts: ['x', 'y"z', null, '{}'],
        nothing: null,
        flag: false,
        int4: -1,
        numbers: [1, 2],
      },
    ]);
  });

  it('refuses a bigint that no number can hold, rather than round it', async () => {
    const asked = database().query({ name: 'test.big', text: 'SELECT 9007199254740993::bigint AS big' });
    await expect(asked).rejects.toThrow(/does not fit/);
    expect((await database().query({ name: 'test.one', text: 'SELECT 1 AS one' })).rows).toEqual([
      { one: 1 },
    ]);
  });
}

function describeStatements(database: () => OpenedDatabase): void {
  it('counts the rows that were returned or changed', async () => {
    const insert = {
      name: 'test.insert',
      text: 'INSERT INTO account VALUES ($1, 1) ON CONFLICT DO NOTHING RETURNING id',
    };
    const first = await database().query({ ...insert, values: ['c'] });
    const again = await database().query({ ...insert, values: ['c'] });
    expect([first.rowCount, first.rows, again.rowCount, again.rows]).toEqual([1, [{ id: 'c' }], 0, []]);
    const update = { name: 'test.touch', text: 'UPDATE account SET amount = amount WHERE id <> $1' };
    expect(await database().query({ ...update, values: ['c'] })).toEqual({ rows: [], rowCount: 2 });
    expect((await database().query({ name: 'test.all', text: 'SELECT id FROM account' })).rowCount).toBe(3);
  });

  it('asks before it sends a statement that had to wait, and sends nothing if that throws', async () => {
    const free = Promise.withResolvers<void>();
    let mayRun = true;
    const insert = {
      name: 'test.asked',
      text: `INSERT INTO account VALUES ('late', 1)`,
      beforeSending() {
        if (!mayRun) throw new Error('too late');
      },
    };
    // As many transactions as there are connections, at least.
    const busy = Array.from({ length: 10 }, () => database().transaction(() => free.promise));
    const asked = expect(database().query(insert)).rejects.toThrow('too late');
    mayRun = false;
    free.resolve();
    await Promise.all([...busy, asked]);
    const count = { name: 'test.late', text: `SELECT 1 FROM account WHERE id = 'late'` };
    expect((await database().query(count)).rowCount).toBe(0);
    mayRun = true;
    expect((await database().query(insert)).rowCount).toBe(1);
    await database().query({ name: 'test.undo_late', text: `DELETE FROM account WHERE id = 'late'` });
  });

  it('makes nothing final for a call whose time is over', async () => {
    const insert = (id: string) => ({
      name: `test.late_${id}`,
      text: `INSERT INTO account VALUES ('${id}', 1)`,
    });
    let left = 60_000;
    const time = { left: () => left };
    const unavailable = {
      code: 'temporarily_unavailable',
      message: expect.stringMatching(/Try again\.$/) as string,
    };
    const late = inCall(time, async () =>
      database().transaction(async (tx) => {
        await tx.query(insert('one'));
        left = 0;
      }),
    );
    await expect(late).rejects.toMatchObject(unavailable);
    await expect(inCall(time, async () => database().query(insert('two')))).rejects.toMatchObject(
      unavailable,
    );
    const asked = {
      name: 'test.late_rows',
      text: `SELECT id FROM account WHERE id IN ('one', 'two', 'three')`,
    };
    expect((await database().query(asked)).rows).toEqual([]);
    left = 60_000;
    await inCall(time, async () => database().query(insert('three')));
    expect((await database().query(asked)).rows).toEqual([{ id: 'three' }]);
    await database().query({ name: 'test.undo_late_rows', text: `DELETE FROM account WHERE id = 'three'` });
  });

  it('throws the error of a violated constraint', async () => {
    const insert = { name: 'test.violate', text: `INSERT INTO account VALUES ('a', 1)` };
    await expect(database().query(insert)).rejects.toMatchObject({ code: '23505' });
    const inside = database().transaction((tx) => tx.query(insert));
    await expect(inside).rejects.toMatchObject({ code: '23505' });
  });
}
