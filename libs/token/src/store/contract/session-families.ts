import { beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import {
  bench,
  grant,
  newAccessToken,
  owner,
  retryWindow,
  trail,
  type Bench,
  type Started,
} from './fixture.ts';

/** Of which a race needs enough to hit every interleaving. */
const rounds = 20;

/** What must hold of families that live no longer than their session, on every engine. */
export function sessionFamilyContract(engine: string, open: () => Promise<Database>): void {
  describe(`families of a session on ${engine}`, () => {
    let on: Bench;
    beforeAll(async () => {
      on = bench(await open());
    });
    const start = async () => {
      const sessionId = systemRandom.bytes(16).toString('base64url');
      const bound = { ...grant, sessionId, scopes: ['openid', 'orders.read'] };
      const started = await on.start({ grant: bound, sessionId });
      return { ...started, sessionId, bound };
    };
    const keyOf = ({ familyId }: Started, generation: number) => ({ ...owner, familyId, generation });
    const lives = { sessionLives: true };

    it('rotate only once their session was found alive, and change nothing otherwise', async () => {
      const family = await start();
      expect(await on.refresh.rotate(family.request(1))).toEqual({ kind: 'session_ended' });
      const rotated = await on.refresh.rotate(family.request(1, lives));
      expect(rotated).toMatchObject({ kind: 'rotated', generation: 2, grant: family.bound });
      expect(await on.refresh.rotate(family.request(1))).toEqual({ kind: 'session_ended' });
      expect(await on.refresh.rotate(family.request(1, lives))).toEqual({ ...rotated, kind: 'retried' });
      await on.elapse(family.familyId, retryWindow);
      expect(await on.refresh.rotate(family.request(1))).toEqual({ kind: 'reuse_detected' });
    });

    it('say when their token was issued and when it expires, the same in each answer with it', async () => {
      const family = await on.start({ idleSeconds: 100, absoluteSeconds: 150 });
      const idle = { idleSeconds: 100 };
      const first = await on.refresh.rotate(family.request(1, idle));
      expect('expiresAt' in first && first.expiresAt - first.issuedAt).toBe(100);
      expect(await on.refresh.rotate(family.request(1, idle))).toEqual({ ...first, kind: 'retried' });
      await on.elapse(family.familyId, 90);
      const last = await on.refresh.rotate(family.request(2, idle));
      expect('expiresAt' in last && last.expiresAt - last.issuedAt).toBeLessThanOrEqual(60);
    });

    it('name their session to their client, for a token that may still be used', async () => {
      const family = await start();
      for (const generation of [1, 2]) await on.refresh.rotate(family.request(generation, lives));
      const { sessionId } = family;
      for (const [generation, expected] of [
        [1, undefined],
        [2, sessionId],
        [3, sessionId],
      ] as const)
        expect(await on.refresh.sessionOf(keyOf(family, generation))).toBe(expected);
      expect(await on.refresh.sessionOf({ ...keyOf(family, 3), clientId: 'other' })).toBeUndefined();
      expect(await on.refresh.sessionOf({ ...keyOf(family, 3), tenantId: 'globex' })).toBeUndefined();
      expect(await on.refresh.endOf(keyOf(family, 1))).toEqual({ endsWith: sessionId });
      expect(await on.refresh.endOf({ ...keyOf(family, 1), clientId: 'other' })).toBeUndefined();
      const offline = await on.start();
      expect(await on.refresh.sessionOf(keyOf(offline, 1))).toBeUndefined();
      expect(await on.refresh.endOf(keyOf(offline, 1))).toEqual({ endsWith: undefined });
    });

    it('name no session once they are expired, and say so', async () => {
      const family = await start();
      await on.elapse(family.familyId, 100 * 86_400);
      expect(await on.refresh.sessionOf(keyOf(family, 1))).toBeUndefined();
      expect(await on.refresh.rotate(family.request(1))).toEqual({ kind: 'expired' });
    });

    it('end with their session for good, once, and tell the feed; others of the session live on', async () => {
      const before = await on.revocations.newestChange();
      const family = await start();
      const { sessionId, familyId } = family;
      const offline = await on.start({ grant: { ...grant, sessionId }, sessionId });
      for (let time = 0; time < 2; time += 1) {
        await on.redemption.noteSessionEnd('globex', sessionId, trail);
        expect(await on.refresh.findLive(time === 0 ? familyId : offline.familyId, 1)).toBeDefined();
        await on.redemption.noteSessionEnd('acme', sessionId, trail);
      }
      expect(await on.refresh.findLive(familyId, 1)).toBeUndefined();
      expect(await on.refresh.rotate(family.request(1, lives))).toEqual({ kind: 'revoked' });
      expect(await on.refresh.sessionOf(keyOf(family, 1))).toBeUndefined();
      expect(await on.refresh.endOf(keyOf(family, 1))).toEqual({ endsWith: sessionId });
      expect(await on.audit(familyId, 'refresh.family_revoked')).toMatchObject([
        { reason: 'session_ended', record: { subject: 'u1', sessionId, requestId: trail.requestId } },
      ]);
      const changes = await on.revocations.changesAfter(before, 100);
      expect(changes.filter((change) => change.sessionId === sessionId)).toMatchObject([
        { ...owner, familyId, userId: 'u1', tokenId: '' },
      ]);
    });

    it('end all with one session, each with an audit row of its own', async () => {
      const { sessionId, bound, familyId } = await start();
      const other = await on.start({ grant: bound, sessionId });
      await on.redemption.noteSessionEnd('acme', sessionId, trail);
      for (const id of [familyId, other.familyId]) {
        expect(await on.refresh.findLive(id, 1)).toBeUndefined();
        expect(await on.audit(id, 'refresh.family_revoked')).toMatchObject([
          { reason: 'session_ended', record: { clientId: 'web', grantId: id } },
        ]);
      }
    });

    it('leave none live once the end of the session is noted, even with concurrent refreshes', async () => {
      for (let round = 0; round < rounds; round += 1) {
        const family = await start();
        const refreshTwice = async () => {
          await on.refresh.rotate(family.request(1, lives));
          return on.refresh.rotate(family.request(2, lives));
        };
        const ends = [1, 2].map(async () => on.redemption.noteSessionEnd('acme', family.sessionId, trail));
        await Promise.all([refreshTwice(), ...ends, refreshTwice()]);
        for (const generation of [1, 2, 3])
          expect(await on.refresh.findLive(family.familyId, generation)).toBeUndefined();
        expect(await on.audit(family.familyId, 'refresh.family_revoked')).toHaveLength(1);
      }
    });

    it('let one of twenty parallel uses of a token rotate, and give the others its successor', async () => {
      for (let round = 0; round < rounds / 4; round += 1) {
        const family = await start();
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, async () => on.refresh.rotate(family.request(1, lives))),
        );
        const kinds = outcomes.map(({ kind }) => kind).toSorted();
        expect(kinds).toEqual([...Array.from({ length: 19 }, () => 'retried'), 'rotated']);
        expect(new Set(outcomes.map((outcome) => JSON.stringify({ ...outcome, kind: '' }))).size).toBe(1);
      }
    });

    it('let one of twenty parallel uses succeed where nothing may be retried', async () => {
      const family = await start();
      const exact = { ...lives, retryWindowSeconds: 0 };
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, async () => on.refresh.rotate(family.request(1, exact))),
      );
      expect(outcomes.filter(({ kind }) => kind === 'rotated')).toHaveLength(1);
      expect(outcomes.filter(({ kind }) => kind === 'reuse_detected')).toHaveLength(1);
    });

    it('are not started by a code of a session whose end is noted', async () => {
      const { sessionId, bound } = await start();
      await on.redemption.noteSessionEnd('acme', sessionId, trail);
      const familyId = systemRandom.bytes(16).toString('hex');
      const outcome = await on.redemption.redeem({
        ...owner,
        userId: 'u1',
        sessionId,
        kind: 'authorization_code',
        hash: systemRandom.bytes(32),
        family: { familyId, grant: bound, idleSeconds: 60, absoluteSeconds: 60 },
        accessToken: newAccessToken(),
        trail,
      });
      expect(outcome).toEqual({ kind: 'session_ended' });
    });
  });
}
