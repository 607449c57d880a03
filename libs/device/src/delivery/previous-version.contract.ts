import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Database } from '@tessera/stores';
import { createDecisionStore } from '../store/decision-store.postgres.ts';
import { newDecision, row } from '../testing/new-decision.ts';
import { createDeliveryStore } from './delivery-store.postgres.ts';
import type { Delivery, TakenPush } from './delivery-store.ts';

/** What processes of the previous version do to the only delivery: they number its claims anew in each step. */
const before = {
  take: `UPDATE device.delivery SET attempts = attempts + 1, due_at = now() + interval '200 ms'`,
  handOver: `UPDATE device.delivery
             SET awaits_tokens = false, attempts = 0, due_at = now(), sealed_tokens = 'tokens'`,
  withdraw: `UPDATE device.delivery
             SET awaits_tokens = true, attempts = 0, sealed_tokens = NULL, due_at = now(), expires_at = now()`,
  giveBack: 'UPDATE device.delivery SET due_at = now(), attempts = attempts - 1',
};

/** What every store of deliveries must do while such processes work on the same rows. */
export function previousVersionContract(engine: string, open: () => Promise<Database>): void {
  describe(`deliveries on ${engine} while the previous version runs`, () => {
    const store = async () => createDeliveryStore(await open());
    const decide = async () =>
      createDecisionStore(await open()).decide(newDecision('push', 'approved'), row('ciba.approved'));
    const query = async (text: string) => (await open()).query({ name: `test.${hash('md5', text)}`, text });
    afterEach(async () => {
      await query('DELETE FROM device.delivery');
    });

    it('ignores a claim that the previous version withdrew, no matter which process holds the push now', async () => {
      for (const takenBefore of [false, true]) {
        await decide();
        const on = await store();
        const [first] = (await on.take(10, 20)) as [TakenPush];
        expect(await on.handOver(first, 'tokens')).toBe(true);
        await query(before.withdraw);
        expect(await on.handOver(first, 'tokens')).toBe(false);
        if (takenBefore) {
          await query(before.take);
          expect(await on.handOver(first, 'tokens')).toBe(false);
          await pause(250);
        }
        const [second] = (await on.take(10, 20)) as [TakenPush];
        expect(await on.handOver(first, 'tokens')).toBe(false);
        expect(await on.handOver(second, undefined)).toBe(true);
        expect(await query('DELETE FROM device.delivery')).toMatchObject({ rowCount: 1 });
      }
    });

    it('ignores the claim of a push that the previous version handed over', async () => {
      await decide();
      const on = await store();
      const [first] = (await on.take(10, 20)) as [TakenPush];
      await query(before.handOver);
      const [claimed] = (await on.claim(10, 20)).due as [Delivery];
      expect(claimed).toMatchObject({ attempt: 1, sealedTokens: 'tokens' });
      expect(await on.withdraw(claimed, row())).toBe(true);
      expect(await on.handOver(first, 'tokens')).toBe(false);
      await query(before.take);
      expect(await on.handOver(first, 'tokens')).toBe(false);
      await pause(250);
      const [again] = (await on.take(10, 20)) as [TakenPush];
      expect(await on.handOver(again, undefined)).toBe(true);
    });

    it('accepts the tokens of a push that the previous version claimed, and counts its attempts', async () => {
      await decide();
      const on = await store();
      await query(before.take);
      await pause(250);
      const [second] = (await on.take(10, 20)) as [TakenPush];
      expect(second).toMatchObject({ claim: 2, attempt: 2 });
      expect(await on.handOver(second, 'tokens')).toBe(true);
      await query(before.take);
      await pause(250);
      expect((await on.claim(10, 0)).due).toMatchObject([{ attempt: 2 }]);
      await query(before.take);
      await query(before.giveBack);
      const [third] = (await on.claim(10, 20)).due as [Delivery];
      expect(third.attempt).toBe(3);
      expect(await on.finish(third, row())).toBe(true);
    });
  });
}
