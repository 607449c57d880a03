import type { Database } from '@tessera/stores';
import { runsEverything, testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { migrations } from '@tessera/directory';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startDirectory } from '../testing/start-directory.ts';
import { countedValues, mostTries } from './counted-values.postgres.ts';
import {
  digestOf,
  emailLinks,
  passwordLinks,
  purgeOneTimeValues,
  registrationLinks,
} from './one-time-values.postgres.ts';
import { useChallenge } from './used-challenges.postgres.ts';

oneTimeContract('postgres', async () => testDatabase(migrations));
if (runsEverything) oneTimeContract('pglite', async () => testEmbeddedDatabase(migrations));

/** What values that work once do, on any engine. */
function oneTimeContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  let count = 0;
  beforeAll(async () => {
    database = await open();
  });

  /** A tenant with two people, whose values are kept. */
  async function people() {
    const tenantId = `${engine}${(count += 1)}`;
    const { api } = startDirectory(database);
    await api.tenants.create({ tenantId, tenant: { tenantId, name: 'Acme' } }, call());
    const user = async (username: string) =>
      (await api.users.create({ tenantId, user: { username } }, call())).userId;
    return { tenantId, eve: await user('eve'), bob: await user('bob') };
  }

  const query = async (text: string, ...values: unknown[]) =>
    (await database.query({ name: `test.${digestOf(text).toString('hex').slice(0, 20)}`, text, values }))
      .rows;

  /** The values of each kind as one: a holder is a person, or an address. */
  const kinds = {
    password_link: {
      put: async (value: Value) =>
        passwordLinks.put(database, {
          ...value,
          holder: invited(value),
          kept: { valid_from: '0', mailed: '' },
        }),
      find: async (digest: Buffer) => passwordLinks.find(database, digest),
      take: async (value: Held) => passwordLinks.take(database, { ...value, holder: invited(value) }),
      end: async (value: Holding) => passwordLinks.end(database, { ...value, holder: invited(value) }),
    },
    email_link: {
      put: async (value: Value) =>
        emailLinks.put(database, { ...value, holder: { user_id: value.whose }, kept: { email: 'e@x' } }),
      find: async (digest: Buffer) => emailLinks.find(database, digest),
      take: async (value: Held) => emailLinks.take(database, { ...value, holder: { user_id: value.whose } }),
      end: async (value: Holding) => emailLinks.end(database, { ...value, holder: { user_id: value.whose } }),
    },
    registration_link: {
      put: async (value: Value) =>
        registrationLinks.put(database, {
          ...value,
          holder: { identifier: value.whose },
          kept: { email: 'e@x' },
        }),
      find: async (digest: Buffer) => registrationLinks.find(database, digest),
      take: async (value: Held) =>
        registrationLinks.take(database, { ...value, holder: { identifier: value.whose } }),
      end: async (value: Holding) =>
        registrationLinks.end(database, { ...value, holder: { identifier: value.whose } }),
    },
  };

  describe.each(Object.entries(kinds))(`a row of %s, on ${engine}`, (table, { put, find, take, end }) => {
    it('works for one of twenty who present it at once', async () => {
      const { tenantId, eve } = await people();
      for (let round = 0; round < 5; round += 1) {
        const digest = digestOf(`${tenantId} ${table} ${round}`);
        const held = { tenantId, whose: eve, digest };
        await put({ ...held, lifetimeSeconds: 60 });
        expect(await find(digest)).toMatchObject({ tenantId });
        const taken = await Promise.all(Array.from({ length: 20 }, async () => take(held)));
        expect(taken.filter(Boolean)).toHaveLength(1);
        expect(await find(digest)).toBeUndefined();
      }
    });

    it('is its holder’s alone, in one tenant', async () => {
      const { tenantId, eve, bob } = await people();
      const digest = digestOf(`${tenantId} ${table}`);
      await put({ tenantId, whose: eve, digest, lifetimeSeconds: 60 });
      expect(await take({ tenantId, whose: bob, digest })).toBe(false);
      expect(await take({ tenantId: (await people()).tenantId, whose: eve, digest })).toBe(false);
      expect(await take({ tenantId, whose: eve, digest: digestOf('another') })).toBe(false);
      expect(await take({ tenantId, whose: eve, digest })).toBe(true);
    });

    it('is ended for its holder alone, also if there is none', async () => {
      const { tenantId, eve, bob } = await people();
      const { tenantId: elsewhere } = await people();
      const [ended, kept] = [eve, bob].map((whose) => digestOf(`${whose} ${table}`)) as [Buffer, Buffer];
      await put({ tenantId, whose: eve, digest: ended, lifetimeSeconds: 60 });
      await put({ tenantId, whose: bob, digest: kept, lifetimeSeconds: 60 });
      await end({ tenantId: elsewhere, whose: eve });
      expect(await find(ended)).toMatchObject({ tenantId });
      for (let time = 0; time < 2; time += 1) await end({ tenantId, whose: eve });
      expect([await find(ended), await take({ tenantId, whose: eve, digest: ended })]).toEqual([
        undefined,
        false,
      ]);
      expect(await take({ tenantId, whose: bob, digest: kept })).toBe(true);
    });

    it('ends with a later one of its holder, and with its time', async () => {
      const { tenantId, eve } = await people();
      const [first, second, past] = ['first', 'second', 'past'].map((name) =>
        digestOf(`${tenantId} ${table} ${name}`),
      ) as [Buffer, Buffer, Buffer];
      const of = { tenantId, whose: eve };
      const made = Math.floor(Date.now() / 1000);
      const expires = await put({ ...of, digest: first, lifetimeSeconds: 600 });
      expect(Math.abs(expires - made - 600)).toBeLessThan(10);
      await put({ ...of, digest: second, lifetimeSeconds: 600 });
      expect([await find(first), await take({ ...of, digest: first })]).toEqual([undefined, false]);
      await put({ ...of, digest: past, lifetimeSeconds: 0 });
      expect([await find(past), await take({ ...of, digest: past })]).toEqual([undefined, false]);
      expect(await take({ ...of, digest: second })).toBe(false);
    });

    it('is removed once it has expired, in portions, and nothing else is', async () => {
      while ((await purgeOneTimeValues(database, 100)) > 0);
      const { tenantId, eve, bob } = await people();
      const { tenantId: elsewhere, eve: other } = await people();
      const put3 = async (at: string, whose: string, lifetimeSeconds: number) =>
        put({ tenantId: at, whose, digest: digestOf(`${at} ${whose} ${table}`), lifetimeSeconds });
      await put3(tenantId, eve, 0);
      await put3(elsewhere, other, 0);
      await put3(tenantId, bob, 600);
      expect(await purgeOneTimeValues(database, 1)).toBe(1);
      expect(await purgeOneTimeValues(database, 1)).toBe(1);
      expect(await purgeOneTimeValues(database, 1)).toBe(0);
      const left = `SELECT tenant_id FROM directory.${table} WHERE tenant_id IN ($1, $2)`;
      expect(await query(left, tenantId, elsewhere)).toEqual([{ tenant_id: tenantId }]);
    });
  });

  describe(`a value that is short enough to be guessed, on ${engine}`, () => {
    const values = countedValues('trial');
    const right = digestOf('12345678');
    const wrong = digestOf('87654321');

    it('works for one of twenty who present it at once, and tells what was kept', async () => {
      const { tenantId } = await people();
      for (let round = 0; round < 5; round += 1) {
        const held = { tenantId, holder: `visit ${round}`, digest: right };
        await values.put(database, { ...held, kept: 'eve', lifetimeSeconds: 60 });
        const used = await Promise.all(Array.from({ length: 20 }, async () => values.use(database, held)));
        expect(used.filter((kept) => kept === 'eve')).toHaveLength(1);
        expect(used.filter((kept) => kept === undefined)).toHaveLength(19);
      }
    });

    it('bears few wrong tries, however many come at once', async () => {
      const { tenantId } = await people();
      const held = { tenantId, holder: 'visit', digest: right };
      const put = async () => values.put(database, { ...held, kept: 'eve', lifetimeSeconds: 60 });
      const fail = async () => values.use(database, { ...held, digest: wrong });
      await put();
      for (let tries = 1; tries < mostTries; tries += 1) expect(await fail()).toBeUndefined();
      expect(await values.use(database, held)).toBe('eve');
      await put();
      await Promise.all(Array.from({ length: 20 }, fail));
      expect(await values.use(database, held)).toBeUndefined();
      await put();
      expect(await values.use(database, held), 'another one has its own tries').toBe('eve');
    });

    it('replaces one that nobody knows, whose tries count', async () => {
      const { tenantId } = await people();
      const held = { tenantId, holder: 'visit', digest: right };
      await values.replace(database, { ...held, kept: 'eve' });
      expect(await values.use(database, held), 'there was none').toBeUndefined();
      await values.put(database, { ...held, digest: wrong, kept: '', lifetimeSeconds: 60 });
      await values.replace(database, { ...held, kept: 'eve' });
      expect(await values.use(database, held)).toBe('eve');
      await values.replace(database, { ...held, kept: 'bob' });
      expect(await values.use(database, held), 'a used one stays used').toBeUndefined();
      await values.put(database, { ...held, digest: wrong, kept: '', lifetimeSeconds: 60 });
      for (let tries = 0; tries < mostTries; tries += 1) await values.use(database, held);
      await values.replace(database, { ...held, kept: 'eve' });
      expect(await values.use(database, held), 'no tries are left').toBeUndefined();
    });

    it('is its holder’s, of one kind and one tenant, replaced by a later one, and ends with its time', async () => {
      const { tenantId } = await people();
      const { tenantId: elsewhere } = await people();
      const held = { tenantId, holder: 'visit', digest: right };
      const put = async (digest: Buffer, lifetimeSeconds = 60) =>
        values.put(database, { ...held, digest, kept: 'eve', lifetimeSeconds });
      await put(right);
      expect(await values.use(database, { ...held, holder: 'another' })).toBeUndefined();
      expect(await values.use(database, { ...held, tenantId: elsewhere })).toBeUndefined();
      expect(await countedValues('another').use(database, held)).toBeUndefined();
      await put(wrong);
      expect(await values.use(database, held)).toBeUndefined();
      await put(right, 0);
      expect(await values.use(database, held)).toBeUndefined();
    });

    it('is removed once it has expired, and not before', async () => {
      while ((await purgeOneTimeValues(database, 100)) > 0);
      const { tenantId } = await people();
      for (const [holder, lifetimeSeconds] of [
        ['past', 0],
        ['present', 60],
      ] as const)
        await values.put(database, { tenantId, holder, digest: right, kept: '', lifetimeSeconds });
      expect(await purgeOneTimeValues(database, 100)).toBe(1);
      expect(await values.use(database, { tenantId, holder: 'present', digest: right })).toBe('');
    });
  });

  describe(`what a visit asked for, on ${engine}`, () => {
    it('is answered by one of twenty, and remembered as long as a visit can last', async () => {
      const { tenantId } = await people();
      const used = await Promise.all(
        Array.from({ length: 20 }, async () => useChallenge(database, tenantId, 'asked')),
      );
      expect(used.filter(Boolean)).toHaveLength(1);
      while ((await purgeOneTimeValues(database, 100)) > 0);
      expect(await useChallenge(database, tenantId, 'asked')).toBe(false);
      await query(
        `UPDATE directory.used_challenge SET used_at = used_at - interval '3 days' WHERE tenant_id = $1`,
        tenantId,
      );
      expect(await purgeOneTimeValues(database, 100)).toBe(1);
      expect(await useChallenge(database, tenantId, 'asked')).toBe(true);
    });
  });
}

interface Holding {
  readonly tenantId: string;
  /** A person, or an address. */
  readonly whose: string;
}

interface Held extends Holding {
  readonly digest: Buffer;
}

interface Value extends Held {
  readonly lifetimeSeconds: number;
}

function invited({ whose }: Holding) {
  return { user_id: whose, purpose: 'invitation' };
}
