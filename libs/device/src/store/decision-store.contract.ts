import { AuthenticationSchema } from '@tessera/proto-gen/oauth';
import { create } from '@tessera/rpc';
import { describe, expect, it } from 'vitest';
import { auditRow } from '@tessera/audit';
import { systemClock, systemRandom } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { createDecisionStore } from './decision-store.postgres.ts';
import type { Decision } from '../pending-grant.ts';
import type { NewDecision } from './decision-store.ts';

const client = { tenantId: 'acme', clientId: 'tv' };

function newDecision(decision: Decision, difference: Partial<NewDecision> = {}): NewDecision {
  return {
    request: {
      kind: 'device_code',
      hash: systemRandom.bytes(32).toString('hex'),
      requestId: 'r',
      ...client,
      scopes: ['openid', 'orders.read'],
      resource: 'https://orders.example',
      issuer: 'https://id.example',
      ipAddress: '192.0.2.1',
      bindingMessage: '',
      authenticated: true,
    },
    decision,
    userId: 'ada',
    sessionId: 'session-1',
    authentication: create(AuthenticationSchema, { time: 1_767_225_600, methods: ['pwd'] }),
    remainingSeconds: 60,
    ...difference,
  };
}

function row(decision: NewDecision) {
  const runtime = { clock: systemClock, random: systemRandom };
  const event = `device.${decision.decision}`;
  return auditRow({ event, outcome: 'success', tenantId: 'acme', grantId: decision.request.hash }, runtime);
}

/** What every store of decisions must do. */
export function decisionStoreContract(engine: string, open: () => Promise<Database>): void {
  describe(`decisions on ${engine}`, () => {
    const store = async () => createDecisionStore(await open());
    const decide = async (decision: NewDecision) => (await store()).decide(decision, row(decision));
    const confirm = async ({ request }: NewDecision, difference: Partial<typeof client> = {}) =>
      (await store()).confirm(request.kind, request.hash, { ...client, ...difference });
    const audited = async ({ request }: NewDecision) => {
      const { rows } = await (
        await open()
      ).query<{ event: string }>({
        name: 'test.audited_decision',
        text: `SELECT event FROM device.audit_event WHERE record ->> 'grantId' = $1`,
        values: [request.hash],
      });
      return rows.map(({ event }) => event);
    };

    it('confirms an approval with its grant, each time', async () => {
      const decision = newDecision('approved');
      expect(await decide(decision)).toEqual({ decision: 'approved', userId: 'ada', isNew: true });
      const { request, userId, sessionId, authentication } = decision;
      const { scopes, resource, issuer } = request;
      const confirmed = {
        decision: 'approved',
        grant: { userId, sessionId, authentication, scopes, resource, issuer },
      };
      expect(await confirm(decision)).toMatchObject(confirmed);
      expect(await confirm(decision)).toMatchObject(confirmed);
      expect(await audited(decision)).toEqual(['device.approved']);
    });

    it('confirms no approval without a grant, as version 0.1 recorded it', async () => {
      const decision = newDecision('approved');
      await decide(decision);
      await (
        await open()
      ).query({
        name: 'test.forget_user_grant',
        text: 'UPDATE device.decision SET user_grant = NULL WHERE hash = $1',
        values: [Buffer.from(decision.request.hash, 'hex')],
      });
      expect(await confirm(decision)).toEqual({ decision: 'denied' });
    });

    it('confirms nothing that is undecided, expired or of another client', async () => {
      expect(await confirm(newDecision('approved'))).toBeUndefined();
      const decision = newDecision('approved');
      await decide(decision);
      expect(await confirm(decision, { clientId: 'other' })).toBeUndefined();
      expect(await confirm(decision, { tenantId: 'other' })).toBeUndefined();
      const other = { ...decision, request: { ...decision.request, kind: 'auth_req_id' as const } };
      expect(await confirm(other)).toBeUndefined();
      const ended = newDecision('approved', { remainingSeconds: 0 });
      await decide(ended);
      expect(await confirm(ended)).toBeUndefined();
    });

    it('keeps the first decision, with one audit row', async () => {
      const denied = newDecision('denied');
      await decide(denied);
      expect(await decide({ ...denied, decision: 'approved', userId: 'eve' })).toEqual({
        decision: 'denied',
        userId: 'ada',
        isNew: false,
      });
      expect(await decide(denied)).toEqual({ decision: 'denied', userId: 'ada', isNew: false });
      expect(await confirm(denied)).toEqual({ decision: 'denied' });
      expect(await audited(denied)).toEqual(['device.denied']);
    });

    it('keeps exactly one of twenty concurrent decisions, and returns it to every caller', async () => {
      for (let round = 0; round < 10; round += 1) {
        const decision = newDecision('approved');
        const standing = await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            decide({ ...decision, decision: i % 2 === round % 2 ? 'approved' : 'denied' }),
          ),
        );
        expect(standing.filter(({ isNew }) => isNew)).toHaveLength(1);
        expect(new Set(standing.map((one) => one.decision)).size).toBe(1);
        expect(await audited(decision)).toEqual([`device.${standing[0]?.decision}`]);
        expect((await confirm(decision))?.decision).toBe(standing[0]?.decision);
      }
    });

    it('writes no decision whose audit row cannot be written', async () => {
      const decision = newDecision('approved');
      const audit = { ...row(decision), record: 'no JSON' };
      await expect((await store()).decide(decision, audit)).rejects.toThrow();
      expect(await confirm(decision)).toBeUndefined();
    });

    it('removes decisions one day after their request expired, up to the given number', async () => {
      const database = await open();
      const old = Array.from({ length: 3 }, () => newDecision('denied', { remainingSeconds: -90_000 }));
      for (const decision of old) await decide(decision);
      const kept = newDecision('approved', { remainingSeconds: -80_000 });
      await decide(kept);
      const decisions = createDecisionStore(database);
      expect(await decisions.purge(2)).toBe(2);
      expect(await decisions.purge(2)).toBe(1);
      expect(await decisions.purge(2)).toBe(0);
      expect((await decide(kept)).isNew).toBe(false);
    });
  });
}
