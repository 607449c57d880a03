import { describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { firstFamily, type FamilyPosition, type LiveScope } from '../store.ts';
import { newFamilyId } from '../../refresh-token-format.ts';
import { bench, grant, newAccessToken, trail } from './fixture.ts';

/** What the pages of live families must do on every engine. */
export function liveContract(engine: string, open: () => Promise<Database>): void {
  describe(`the live families on ${engine}`, () => {
    it('are those of a tenant, or of some people or applications of it, in order', async () => {
      const on = bench(await open());
      const tenantId = systemRandom.bytes(8).toString('hex');
      const start = async (userId: string, clientId: string) => {
        const familyId = newFamilyId(systemRandom);
        const who = { tenantId, userId, clientId, sessionId: 'session-1' };
        await on.redemption.redeem({
          ...who,
          kind: 'authorization_code',
          hash: systemRandom.bytes(32),
          family: { familyId, grant: { ...grant, ...who }, idleSeconds: 3600, absoluteSeconds: 7200 },
          accessToken: newAccessToken(),
          trail,
        });
        return familyId;
      };
      const [bob, ada, revoked, expired] = [
        await start('bob', 'web'),
        await start('ada', 'web'),
        await start('ada', 'web'),
        await start('ada', 'tv'),
      ];
      const tv = await start('ada', 'tv');
      await on.refresh.revoke({ familyId: revoked, owner: undefined, reason: '', trail });
      await on.elapse(expired, 3600);
      const live = async (
        scope: Omit<LiveScope, 'tenantId'>,
        after: FamilyPosition = firstFamily,
        limit = 10,
      ) => (await on.refresh.live({ tenantId, ...scope }, after, limit)).map(({ familyId }) => familyId);
      const ofAda = [ada, tv].toSorted();
      expect(await live({})).toEqual([...ofAda, bob]);
      const [first] = await on.refresh.live({ tenantId }, firstFamily, 1);
      expect(first).toMatchObject({ ownerId: 'ada', familyId: ofAda[0], grant: { userId: 'ada' } });
      expect(await live({}, first)).toEqual([ofAda[1], bob]);
      expect(await live({ userIds: ['ada', 'eve'] })).toEqual(ofAda);
      expect(await live({ clientIds: ['web'] })).toEqual([ada, bob].toSorted());
      expect(await live({ clientIds: ['tv', 'web'] }, { ownerId: 'tv', familyId: tv })).toEqual(
        [ada, bob].toSorted(),
      );
      expect(await live({ clientIds: ['desk'] })).toEqual([]);
    });
  });
}
