import { Code, ConnectError } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { runsEverything, testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import type { PeopleFilter } from '../users/lists/people-orders.ts';
import { migrations } from '../wiring.ts';
import { searchPeople } from './search-people.postgres.ts';

searchContract('postgres', async () => testDatabase(migrations));
if (runsEverything) searchContract('pglite', async () => testEmbeddedDatabase(migrations));

const day = 24 * 3600 * 1000;

/** How people are found, on any engine. */
function searchContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  let count = 0;
  beforeAll(async () => {
    database = await open();
  });

  async function tenant() {
    const { api } = startRecords(database);
    const tenantId = `search-${engine}${(count += 1)}`;
    await api.tenants.create({ tenantId, tenant: { tenantId, name: 'Acme' } }, call());
    await api.roles.create({ tenantId, role: { name: 'clerk' } }, call());
    const run = async (name: string, text: string, ...values: unknown[]) =>
      database.query({ name: `test.${name}`, text, values });
    return {
      api,
      tenantId,
      run,
      add: async (user: object) =>
        (await api.users.create({ tenantId, user: { username: 'x', ...user } }, call())).userId,
      names: async (asked: object) =>
        (await api.users.list({ tenantId, ...asked }, call())).users.map(({ username }) => username),
      signedIn: async (userId: string, at: number) =>
        run(
          'signed_in',
          `UPDATE directory.person_seen SET signed_in_at = to_timestamp($3::float8 / 1000), seen_at = to_timestamp($3::float8 / 1000)
            WHERE tenant_id = $1 AND user_id = $2`,
          tenantId,
          userId,
          at,
        ),
      /** As the version before this one wrote it, which knew of no search. */
      madeBefore: async (userId: string) =>
        run(
          'made_before',
          `WITH words AS (DELETE FROM directory.person_words WHERE tenant_id = $1 AND user_id = $2),
                word AS (DELETE FROM directory.person_word WHERE tenant_id = $1 AND user_id = $2)
           DELETE FROM directory.person_seen WHERE tenant_id = $1 AND user_id = $2`,
          tenantId,
          userId,
        ),
    };
  }

  describe(`people, on ${engine}`, () => {
    it('are found by what words of their names, addresses and numbers begin with, in any case, without accents', async () => {
      const { add, names } = await tenant();
      await add({ username: 'ada.l', name: 'Ada Lovelace', email: 'countess@engine.example' });
      await add({ username: 'amelie', name: "Amélie O'Brien", phoneNumber: '+46701234567' });
      await add({ username: 'Åsa', nickname: 'Lova' });
      for (const [search, found] of [
        ['love', ['ada.l']],
        ['LOV', ['Åsa', 'ada.l']],
        ['ada lov', ['ada.l']],
        ['lovelace, ada', ['ada.l']],
        ['countess@eng', ['ada.l']],
        ['ada lov amelie', []],
        ['velace', []],
        ['AMELIE', ['amelie']],
        ['améli', ['amelie']],
        ["o'bri", ['amelie']],
        ['+46 70-123', ['amelie']],
        ['asa', ['Åsa']],
        ['åS', ['Åsa']],
        ['%', []],
        ['_', []],
      ] as const)
        expect([search, await names({ search })]).toEqual([search, found]);
    });

    it('are found each once, whatever has changed of them', async () => {
      const { api, add, names, tenantId } = await tenant();
      const userId = await add({ username: 'mara', name: 'Mara Maras', email: 'mara@mara.example' });
      expect(await names({ search: 'mar' })).toEqual(['mara']);
      const user = { userId, username: 'zoe', name: 'Zoe' };
      const updateMask = { paths: ['username', 'name', 'email'] };
      await api.users.update({ tenantId, user, updateMask }, call());
      expect(await names({ search: 'mar' })).toEqual([]);
      expect(await names({ search: 'zo' })).toEqual(['zoe']);
      await api.users.delete({ tenantId, userId }, call());
      expect(await names({ search: 'zo' })).toEqual([]);
      await api.users.undelete({ tenantId, userId }, call());
      expect(await names({ search: 'zo' })).toEqual(['zoe']);
    });

    it('have the time of the last sign-in, also after they were deleted and brought back', async () => {
      const { api, add, signedIn, tenantId } = await tenant();
      const userId = await add({ username: 'eve' });
      const times = async () => {
        const { users } = await api.users.list({ tenantId }, call());
        const read = [...users, await api.users.get({ tenantId, userId }, call())];
        return read.map(({ lastSignInTime }) => lastSignInTime && Number(lastSignInTime.seconds));
      };
      expect(await times()).toEqual([undefined, undefined]);
      await signedIn(userId, 1_700_000_000_000);
      expect(await times()).toEqual([1_700_000_000, 1_700_000_000]);
      await api.users.delete({ tenantId, userId }, call());
      await api.users.undelete({ tenantId, userId }, call());
      expect(await times()).toEqual([1_700_000_000, 1_700_000_000]);
    });

    it('of an earlier version are found after the upgrade, and count as seen then', async () => {
      const { add, names, madeBefore, run } = await tenant();
      const ids = await Promise.all(
        ['old-a', 'old-b', 'old-c'].map(async (username) => add({ username, name: 'Old One' })),
      );
      for (const userId of ids) await madeBefore(userId);
      await add({ username: 'young', name: 'Old Two' });
      await run(
        'earlier_version',
        `UPDATE directory.user_account SET name = 'Older' WHERE user_id = $1`,
        ids[0],
      );
      expect((await names({ search: 'old' })).toSorted()).toEqual(['old-a', 'young']);
      await run('fill', 'CALL directory.index_people()');
      await run('fill', 'CALL directory.index_people()');
      expect((await names({ search: 'old' })).toSorted()).toEqual(['old-a', 'old-b', 'old-c', 'young']);
      expect(await names({ search: 'older' })).toEqual(['old-a']);
      expect(await names({ neverSignedIn: true })).toEqual(['young']);
      const since = (at: number) => ({ notSignedInSince: { seconds: BigInt(Math.round(at / 1000)) } });
      expect(await names(since(Date.now() - day))).toEqual([]);
      expect(await names(since(Date.now() + day))).toHaveLength(4);
    });

    it('are found by each set of conditions, however many are looked at for a page', async () => {
      const { add, tenantId, run, signedIn } = await tenant();
      const people = await Promise.all(
        Array.from({ length: 24 }, async (_, index) => {
          const has = (bit: number) => Math.floor(index / 2 ** bit) % 2 === 1;
          const person = {
            name: has(0) ? `Bo Bode Borg ${index}` : `Cy ${index}`,
            roles: has(1) ? ['clerk'] : [],
            status: has(2) ? 'locked' : 'active',
          };
          const userId = await add({ username: `p${index}`, ...person });
          const [linked, idle, invited] = [has(3), index % 3 === 0, index % 5 === 0];
          if (linked)
            for (const issuer of ['https://one.example', 'https://two.example'])
              await run(
                'link',
                `INSERT INTO directory.provider_identity (tenant_id, provider, issuer, subject, user_id) VALUES ($1, 'corp', $3, $2, $2)`,
                tenantId,
                userId,
                issuer,
              );
          if (idle) await signedIn(userId, Date.now() - 9 * day);
          if (invited)
            await run(
              'invite',
              `INSERT INTO directory.password_link (tenant_id, user_id, purpose, digest, valid_from, expires_at)
               SELECT u.tenant_id, u.user_id, 'invitation', sha256(u.user_id::bytea), greatest(u.valid_from, t.valid_from),
                      now() + interval '1 day'
                 FROM directory.user_account u JOIN directory.tenant t USING (tenant_id) WHERE u.user_id = $1`,
              userId,
            );
          const name = person.name.toLowerCase();
          return { userId, ...person, begins: name.startsWith('bo'), linked, idle, invited };
        }),
      );
      type Person = (typeof people)[number];
      const asked: readonly (readonly [PeopleFilter, (person: Person) => boolean])[] = [
        [{ text: 'bo' }, ({ begins }) => begins],
        [{ role: 'clerk' }, ({ roles }) => roles.length > 0],
        [{ status: 'locked' }, ({ status }) => status === 'locked'],
        [{ status: 'active' }, ({ status }) => status === 'active'],
        [{ provider: 'corp' }, ({ linked }) => linked],
        [{ notSignedInSince: Date.now() - day }, ({ idle }) => idle],
        [{ neverSignedIn: true }, ({ idle }) => !idle],
        [{ invited: true }, ({ invited }) => invited],
      ];
      const pairs = asked.flatMap((one, index) => asked.slice(index).map((other) => [one, other] as const));
      const sets = [...pairs, asked.filter(([filter]) => filter.status !== 'locked')];
      for (const set of sets) {
        const filter: PeopleFilter = Object.assign({}, ...set.map(([each]) => each));
        const meant = set.map(([, holds]) => holds);
        // Of two values of one condition the last one is asked for.
        if (set.length === 2 && Object.keys(filter).length === 1) meant.shift();
        const wanted = people.filter((person) => meant.every((holds) => holds(person)));
        for (const [size, atOnce] of [
          [50, 5000],
          [2, 3],
          [3, 2],
        ] as const) {
          const found: string[] = [];
          let after = '';
          do {
            const page = await searchPeople(database, tenantId, filter, { after, size }, atOnce);
            expect(page.records.length).toBeLessThanOrEqual(size);
            found.push(...page.records.map(({ record }) => record.userId));
            after = page.next ?? '';
          } while (after !== '');
          expect([filter, size, found.toSorted()]).toEqual([
            filter,
            size,
            wanted.map(({ userId }) => userId).toSorted(),
          ]);
        }
      }
    });

    it('are found in their own tenant alone', async () => {
      const [one, two] = [await tenant(), await tenant()];
      await one.add({ username: 'eve', roles: ['clerk'] });
      for (const asked of [
        { search: 'eve' },
        { role: 'clerk' },
        { neverSignedIn: true },
        { status: 'active' },
      ])
        expect(await two.names(asked)).toEqual([]);
    });

    it('are on pages of one search, which no token of another one or of nobody continues', async () => {
      const { api, add, tenantId } = await tenant();
      for (const username of ['a1', 'a2', 'a3']) await add({ username });
      const first = await api.users.list({ tenantId, search: 'a', pageSize: 1 }, call());
      expect(first.users.map(({ username }) => username)).toEqual(['a1']);
      const { nextPageToken: pageToken } = first;
      const next = await api.users.list({ tenantId, search: 'a', pageSize: 1, pageToken }, call());
      expect(next.users.map(({ username }) => username)).toEqual(['a2']);
      const forged = (...place: string[]) =>
        Buffer.from(JSON.stringify([place.join('\n'), JSON.stringify({ text: 'a' })])).toString('base64url');
      for (const request of [
        { search: 'b', pageToken },
        { search: 'a', role: 'clerk', pageToken },
        { pageToken },
        { search: 'a', pageToken: forged('nothing', '', '', '') },
        { search: 'a', pageToken: forged('notSignedInSince', '', 'never', '') },
        { search: 'a', pageToken: forged('text', 'a\u0000', '', '') },
        { search: 'a', pageToken: forged('toString', '', '', '') },
      ]) {
        const refused = await api.users
          .list({ tenantId, ...request }, call())
          .catch((error: unknown) => error);
        expect([request, refused instanceof ConnectError && refused.code]).toEqual([
          request,
          Code.InvalidArgument,
        ]);
      }
    });

    it('are no part of a list of an unknown tenant, whatever is asked', async () => {
      const { api } = await tenant();
      await expect(api.users.list({ tenantId: 'nowhere', role: 'clerk' }, call())).rejects.toMatchObject({
        code: Code.NotFound,
      });
    });
  });
}
