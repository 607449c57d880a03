import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Database } from '@tessera/stores';
import { createDecisionStore } from './decision-store.postgres.ts';
import { newDecision, row } from '../testing/new-decision.ts';
import { createDeliveryStore } from './delivery-store.postgres.ts';
import type { Delivery } from './delivery-store.ts';
import type { NewDecision } from './decision-store.ts';

/** What every store of deliveries must do. */
export function deliveryStoreContract(engine: string, open: () => Promise<Database>): void {
  describe(`deliveries on ${engine}`, () => {
    const store = async () => createDeliveryStore(await open());
    const decide = async (decision: NewDecision) => {
      await createDecisionStore(await open()).decide(decision, row('ciba.approved'));
      return decision;
    };
    const query = async (text: string) =>
      (await open()).query<{ n: number }>({ name: `test.${hash('md5', text)}`, text });
    afterEach(async () => {
      await query('DELETE FROM device.delivery');
    });

    it('is written in one commit with the first decision, and not with a later one', async () => {
      const decision = await decide(newDecision('denied'));
      const late = newDecision('approved');
      await decide({ ...late, request: decision.request });
      const due = await (await store()).claim(10, 20);
      expect(due).toHaveLength(1);
      const { tenantId, clientId, hash: digest, requestId } = decision.request;
      expect(due[0]).toMatchObject({
        deliveryId: decision.delivery?.deliveryId,
        attempt: 1,
        mode: 'ping',
        outcome: 'denied',
        tenantId,
        clientId,
        hash: digest,
        requestId,
        userId: 'ada',
        sealed: 'sealed',
        trail: { requestId: 'call-1', ipAddress: '192.0.2.7' },
      });
      expect(due[0]?.remainingSeconds).toBeGreaterThan(290);
    });

    it('is not written if the client polls or the decision fails', async () => {
      await decide({ ...newDecision('approved'), delivery: undefined });
      const audit = { ...row(), record: 'no JSON' };
      const decisions = createDecisionStore(await open());
      await expect(decisions.decide(newDecision('approved'), audit)).rejects.toThrow();
      expect(await (await store()).claim(10, 20)).toEqual([]);
    });

    it('is claimed by exactly one of twenty concurrent claimants', async () => {
      for (let round = 0; round < 5; round += 1) {
        await decide(newDecision('approved'));
        const on = await store();
        const claims = await Promise.all(Array.from({ length: 20 }, () => on.claim(10, 20)));
        expect(claims.flat()).toHaveLength(1);
      }
    });

    it('can be claimed again after the lease, and the first claim then has no effect', async () => {
      await decide(newDecision('approved'));
      const on = await store();
      const [first] = (await on.claim(10, 0.2)) as [Delivery];
      expect(await on.claim(10, 20)).toEqual([]);
      await pause(250);
      const [second] = (await on.claim(10, 20)) as [Delivery];
      expect(second).toMatchObject({ deliveryId: first.deliveryId, claim: 2, attempt: 2 });
      await on.retry(first, 0);
      expect(await on.claim(10, 20)).toEqual([]);
      expect(await on.finish(first, row())).toBe(false);
      await on.retry(second, 0);
      const [third] = (await on.claim(10, 20)) as [Delivery];
      expect(third.attempt).toBe(3);
    });

    it('is due again without a counted attempt when its claim is released; a void claim releases nothing', async () => {
      await decide(newDecision('denied'));
      const on = await store();
      const [first] = (await on.claim(10, 0)) as [Delivery];
      const [second] = (await on.claim(10, 20)) as [Delivery];
      await on.giveBack(first, 0);
      expect(await on.claim(10, 20)).toEqual([]);
      await on.giveBack(second, 0.2);
      expect(await on.claim(10, 20)).toEqual([]);
      await pause(250);
      const [third] = (await on.claim(10, 20)) as [Delivery];
      expect(third).toMatchObject({ deliveryId: first.deliveryId, claim: 3, attempt: 2 });
      expect(await on.finish(first, row())).toBe(false);
      expect(await on.finish(third, row())).toBe(true);
    });

    it('is completed with its audit row, once', async () => {
      await decide(newDecision('approved'));
      const on = await store();
      const [claimed] = (await on.claim(10, 0)) as [Delivery];
      const audit = row();
      expect(await on.finish(claimed, audit)).toBe(true);
      expect(await on.finish(claimed, row())).toBe(false);
      expect(await on.claim(10, 20)).toEqual([]);
      const text = `SELECT count(*)::int AS n FROM device.audit_event WHERE event_id = '${audit.eventId}'`;
      expect((await query(text)).rows).toEqual([{ n: 1 }]);
    });

    it('is left alone if its mode is of another version, and removed one day later', async () => {
      const on = await store();
      await decide(newDecision('approved'));
      await query(`UPDATE device.delivery SET mode = 'push'`);
      expect(await on.claim(10, 20)).toEqual([]);
      await query(`UPDATE device.delivery SET expires_at = now() - interval '25 hours'`);
      expect(await on.purge(10)).toBe(1);
    });

    it('leaves one minute to deliver a decision made in the last second', async () => {
      await decide(newDecision('approved', 1));
      const [claimed] = await (await store()).claim(10, 20);
      expect(claimed?.remainingSeconds).toBeGreaterThan(50);
    });

    it('stores prompts and notifications, and removes them with or without an audit row', async () => {
      const on = await store();
      const { request, delivery } = newDecision('approved');
      const deliveryId = delivery?.deliveryId ?? '';
      const trail = { requestId: 'call-1', ipAddress: '192.0.2.7' };
      await on.addPrompt({ deliveryId, request, userId: '', trail, remainingSeconds: 30 });
      const [prompt] = (await on.claim(10, 20)) as [Delivery];
      const { tenantId, clientId, hash: digest, requestId } = request;
      expect(prompt).toMatchObject({ deliveryId, mode: 'prompt', outcome: 'pending', tenantId, clientId });
      expect(prompt).toMatchObject({ hash: digest, requestId, userId: '', trail });
      expect(prompt.remainingSeconds).toBeLessThan(31);
      expect(await on.finish({ ...prompt, claim: 2 }, undefined)).toBe(false);
      expect(await on.finish(prompt, undefined)).toBe(true);
      expect(await on.finish(prompt, undefined)).toBe(false);
    });

    it('returns at most the requested number, longest due first', async () => {
      const first = await decide(newDecision('approved'));
      await decide(newDecision('approved'));
      const due = await (await store()).claim(1, 20);
      expect(due.map(({ deliveryId }) => deliveryId)).toEqual([first.delivery?.deliveryId]);
    });

    it('skips the deliveries of excluded applications and returns those behind them', async () => {
      const of = async (clientId: string) => {
        const decision = newDecision('approved');
        await decide({ ...decision, request: { ...decision.request, clientId } });
      };
      for (const clientId of ['bank', 'bank', 'desk', 'shop']) await of(clientId);
      const on = await store();
      const clientIds = async (left?: readonly string[]) =>
        (await on.claim(10, 20, left)).map(({ clientId }) => clientId);
      expect(await clientIds(['bank', 'desk'])).toEqual(['shop']);
      expect(await clientIds(['bank'])).toEqual(['desk']);
      expect(await clientIds()).toEqual(['bank', 'bank']);
    });

    it('is removed one day after completion', async () => {
      const on = await store();
      await decide(newDecision('approved'));
      expect(await on.purge(10)).toBe(0);
      await query(`UPDATE device.delivery SET expires_at = now() - interval '25 hours'`);
      const [claimed] = await on.claim(10, 0);
      expect(claimed?.remainingSeconds).toBeLessThan(0);
      expect(await on.purge(10)).toBe(1);
    });
  });
}
