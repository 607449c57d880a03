import { migrations } from '@tessera/directory';
import { timestampFromMs, timestampMs } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { runsEverything, testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call } from '../testing/start-directory.ts';
import { mailWorld } from '../testing/mail-world.ts';
import { forgetPeople } from './forget-people.ts';

signInsContract('postgres', async () => testDatabase(migrations));
if (runsEverything) signInsContract('pglite', async () => testEmbeddedDatabase(migrations));

/** How the last sign-ins of people are kept, on any engine. */
function signInsContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });

  async function world() {
    const of = await mailWorld(database);
    const { tenantId, userId } = of;
    return {
      ...of,
      note: async (...times: number[]) =>
        of.person.noteSignIns(
          {
            signIns: times.map((at) => ({ tenantId, userId, signInTime: timestampFromMs(at) })),
          },
          call(),
        ),
      async last() {
        const { lastSignInTime } = await of.api.users.get({ tenantId, userId }, call());
        return lastSignInTime && timestampMs(lastSignInTime);
      },
    };
  }

  describe(`sign-ins that are noted, on ${engine}`, () => {
    it('leave the last one, in whatever order they come', async () => {
      const of = await world();
      expect(await of.last()).toBeUndefined();
      await of.note(1_700_000_000_123);
      await of.note(1_600_000_000_000);
      expect(await of.last()).toBe(1_700_000_000_123);
    });

    it('change neither the record nor its version, and of others nothing', async () => {
      const of = await world();
      const { tenantId, userId } = of;
      const before = await of.api.users.get({ tenantId, userId }, call());
      await of.person.noteSignIns(
        {
          signIns: [
            { tenantId: 'nowhere', userId },
            { tenantId, userId: 'usr_nobody' },
            { tenantId, userId },
          ],
        },
        call(),
      );
      const { lastSignInTime, ...after } = await of.api.users.get({ tenantId, userId }, call());
      expect(Math.abs(Number(lastSignInTime && timestampMs(lastSignInTime)) - Date.now())).toBeLessThan(
        60_000,
      );
      expect(after).toEqual(before);
    });

    it('are kept whatever comes at once: of twenty, the last', async () => {
      const of = await world();
      const times = Array.from({ length: 20 }, (_, index) => 1_700_000_000_000 + index * 1000);
      await Promise.all(times.map(async (at) => of.note(at)));
      // Those that came while another one was written may be left out.
      expect(times).toContain(await of.last());
      await of.note(times.at(-1) ?? 0);
      expect(await of.last()).toBe(times.at(-1));
    });

    it('are gone with who is gone for good', async () => {
      const of = await world();
      const { tenantId, userId } = of;
      await of.note(1_700_000_000_000);
      await of.api.users.delete({ tenantId, userId }, call());
      const kept = async () =>
        (await of.query('kept_sign_ins', 'SELECT FROM directory.person_seen WHERE user_id = $1', userId))
          .length;
      expect(await kept()).toBe(1);
      await forgetPeople(database, [{ tenantId, userId }]);
      expect(await kept()).toBe(0);
    });
  });
}
