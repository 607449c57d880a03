import { beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import { type Database } from '@tessera/stores';
import { newFamilyId } from '../../refresh-token-format.ts';
import type { RedemptionOutcome, RotationOutcome } from '../store.ts';
import { bench, grant, newAccessToken, owner, retryWindow, trail, type Bench } from './fixture.ts';

/** Rounds of each race: enough to hit every interleaving many times, on two cores in seconds. */
const rounds = 40;

/** What must hold when many callers ask for the same thing at once. */
export function raceContract(engine: string, open: () => Promise<Database>): void {
  describe(`races on ${engine}`, () => {
    let on: Bench;
    beforeAll(async () => {
      on = bench(await open());
    });

    it('gives fifty parallel presentations of one token one successor', async () => {
      for (let round = 0; round < rounds / 4; round += 1) {
        const { familyId, request } = await on.start();
        const outcomes = await Promise.all(Array.from({ length: 50 }, () => on.refresh.rotate(request(1))));
        expect(count(outcomes, 'rotated')).toBe(1);
        expect(count(outcomes, 'retried')).toBe(49);
        expect(new Set(outcomes.map(generationOf))).toEqual(new Set([2]));
        expect(await on.refresh.findLive(familyId, 2)).toBeDefined();
        const events = await on.events(familyId);
        expect(events.filter((event) => event === 'refresh.rotated')).toHaveLength(1);
        expect(events.filter((event) => event === 'refresh.retried')).toHaveLength(49);
      }
    });

    it('never forks: with window 0 one parallel presentation wins, and the others revoke the family', async () => {
      for (let round = 0; round < rounds; round += 1) {
        const { familyId, request } = await on.start();
        const exact = { retryWindowSeconds: 0 };
        const outcomes = await Promise.all(
          Array.from({ length: 5 }, () => on.refresh.rotate(request(1, exact))),
        );
        expect(count(outcomes, 'rotated')).toBe(1);
        expect(count(outcomes, 'reuse_detected')).toBe(1);
        expect(count(outcomes, 'revoked')).toBe(3);
        expect(await on.audit(familyId, 'refresh.family_revoked')).toHaveLength(1);
      }
    });

    it('leaves no generation live once revoke has returned, even with concurrent refreshes', async () => {
      for (let round = 0; round < rounds; round += 1) {
        const { familyId, request } = await on.start();
        const revocation = { familyId, owner: undefined, reason: 'stolen', trail };
        const refreshTwice = async () => [
          await on.refresh.rotate(request(1)),
          await on.refresh.rotate(request(2)),
        ];
        const [, ...chains] = await Promise.all([
          on.refresh.revoke(revocation),
          ...Array.from({ length: 3 }, refreshTwice),
        ]);
        const outcomes = chains.flat();
        const generations = new Set([1, 2, 3, 4, ...outcomes.map(generationOf)]);
        for (const generation of generations) {
          expect(await on.refresh.findLive(familyId, generation)).toBeUndefined();
          const after = await on.refresh.rotate(request(generation));
          expect(after.kind).toBe('revoked');
        }
        const revocations = await on.audit(familyId, 'token.revoked');
        const thefts = await on.audit(familyId, 'refresh.family_revoked');
        expect(revocations.length + thefts.length).toBe(1);
      }
    });

    it('does not undo a rotation that one response delivered because another response failed (R1, RFC 9700 section 4.14.2)', async () => {
      for (let round = 0; round < rounds; round += 1) {
        const { familyId, request } = await on.start();
        await on.refresh.rotate(request(1));
        const failing = async () => {
          await on.refresh.rotate(request(1));
          await on.refresh.recordUndelivered(request(2));
        };
        const [delivered] = await Promise.all([
          on.refresh.rotate(request(1)),
          on.refresh.recordUndelivered(request(2)),
          failing(),
          failing(),
        ]);
        expect(delivered).toMatchObject({ kind: 'retried', generation: 2 });
        expect(await on.refresh.findLive(familyId, 1)).toBeUndefined();
        await on.elapse(familyId, retryWindow + 1);
        expect(await on.refresh.rotate(request(1))).toEqual({ kind: 'reuse_detected' });
      }
    });

    it('keeps the reason of the first of many revocations, in the row and in its one audit row', async () => {
      for (let round = 0; round < rounds / 4; round += 1) {
        const { familyId } = await on.start();
        const reasons = Array.from({ length: 10 }, (_, index) => `reason ${index}`);
        const revoke = (reason: string) => on.refresh.revoke({ familyId, owner: undefined, reason, trail });
        const outcomes = await Promise.all(reasons.map(revoke));
        expect(outcomes.filter((outcome) => outcome === 'revoked')).toHaveLength(1);
        const reason = reasons[outcomes.indexOf('revoked')];
        expect(await on.audit(familyId, 'token.revoked')).toMatchObject([
          { record: { details: { reason } } },
        ]);
        expect(await on.revokedReason(familyId)).toBe(reason);
      }
    });

    it('lets exactly one of fifty parallel redemptions of a code succeed, and revokes its tokens (RFC 6749 section 4.1.2)', async () => {
      for (let round = 0; round < rounds / 4; round += 1) {
        const hash = systemRandom.bytes(32);
        const families = Array.from({ length: 50 }, () => newFamilyId(systemRandom));
        const accessTokens = families.map(newAccessToken);
        const before = await on.revocations.newestChange();
        const outcomes = await Promise.all(
          families.map((familyId, index) =>
            on.redemption.redeem({
              ...owner,
              userId: 'u1',
              sessionId: 'session-1',
              kind: 'authorization_code',
              hash,
              family: { familyId, grant, idleSeconds: 3600, absoluteSeconds: 7200 },
              accessToken: accessTokens[index] ?? newAccessToken(),
              trail,
            }),
          ),
        );
        expect(outcomes.filter(({ kind }) => kind === 'redeemed')).toHaveLength(1);
        for (const familyId of families) expect(await on.refresh.findLive(familyId, 1)).toBeUndefined();
        const first = outcomes.findIndex(({ kind }) => kind === 'redeemed');
        const winner = families[first] ?? '';
        const tokenId = accessTokens[first]?.tokenId ?? '';
        const recorded = await on.revocations.changesAfter(before, 100);
        expect(recorded.map((record) => record.tokenId)).toEqual(['', tokenId]);
        expect(outcomes.filter((outcome) => revokedTokenIdOf(outcome) !== undefined)).toEqual([
          { kind: 'replayed', revokedTokenId: tokenId },
        ]);
        expect(await on.audit(winner, 'code.replayed')).toHaveLength(49);
        expect(await on.audit(winner, 'refresh.family_revoked')).toHaveLength(1);
      }
    });
  });
}

function count(outcomes: readonly RotationOutcome[], kind: RotationOutcome['kind']): number {
  return outcomes.filter((outcome) => outcome.kind === kind).length;
}

function revokedTokenIdOf(outcome: RedemptionOutcome): string | undefined {
  return outcome.kind === 'replayed' ? outcome.revokedTokenId : undefined;
}

function generationOf(outcome: RotationOutcome): number {
  return 'generation' in outcome ? outcome.generation : 1;
}
