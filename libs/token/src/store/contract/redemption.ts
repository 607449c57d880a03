import { beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import { type Database } from '@tessera/stores';
import { newFamilyId } from '../../refresh-token-format.ts';
import type { RedemptionKind, RedemptionRequest } from '../store.ts';
import { bench, grant, newAccessToken, owner, trail, type Bench } from './fixture.ts';

/** What the redemption of one-time values must do on every engine. */
export function redemptionContract(engine: string, open: () => Promise<Database>): void {
  describe(`redemption of one-time values on ${engine}`, () => {
    let on: Bench;
    let database: Database;
    beforeAll(async () => {
      database = await open();
      on = bench(database);
    });

    const request = (overrides: Partial<RedemptionRequest> = {}): RedemptionRequest => ({
      ...owner,
      userId: 'u1',
      sessionId: 'session-1',
      kind: 'authorization_code',
      hash: systemRandom.bytes(32),
      family: { familyId: newFamilyId(systemRandom), grant, idleSeconds: 3600, absoluteSeconds: 7200 },
      accessToken: newAccessToken(),
      trail: { ...trail, details: { jti: 'token-1' } },
      ...overrides,
    });

    it('starts the family with the marker and writes what was issued to one audit row', async () => {
      const redemption = request();
      const familyId = redemption.family?.familyId ?? '';
      expect(await on.redemption.redeem(redemption)).toMatchObject({ kind: 'redeemed' });
      expect((await on.refresh.findLive(familyId, 1))?.grant).toMatchObject({ ...grant, ...owner });
      expect((await on.events(familyId)).toSorted()).toEqual(['code.redeemed', 'token.issued']);
      expect(await on.audit(familyId, 'token.issued')).toMatchObject([
        { record: { details: { jti: 'token-1' } } },
      ]);
    });

    it('treats a second redemption as a replay and revokes the family of the first one for good', async () => {
      const redemption = request();
      const familyId = redemption.family?.familyId ?? '';
      await on.redemption.redeem(redemption);
      const another = { ...redemption, family: request().family };
      expect(await on.redemption.redeem(another)).toMatchObject({ kind: 'replayed' });
      expect(await on.redemption.redeem(another)).toMatchObject({ kind: 'replayed' });
      expect(await on.refresh.findLive(familyId, 1)).toBeUndefined();
      expect(await on.refresh.findLive(another.family?.familyId ?? '', 1)).toBeUndefined();
      expect(await on.audit(familyId, 'code.replayed')).toHaveLength(2);
      expect(await on.audit(familyId, 'refresh.family_revoked')).toMatchObject([
        { reason: 'grant_replayed' },
      ]);
    });

    it('finds a replay only of a value that was redeemed, with the effects of a second redemption', async () => {
      const redemption = request();
      const familyId = redemption.family?.familyId ?? '';
      expect(await on.redemption.findReplay(redemption)).toBeUndefined();
      expect(await on.redemption.redeem(redemption)).toMatchObject({ kind: 'redeemed' });
      expect(await on.redemption.findReplay({ ...redemption, hash: systemRandom.bytes(32) })).toBeUndefined();
      expect(await on.refresh.findLive(familyId, 1)).toBeDefined();
      expect(await on.redemption.findReplay(redemption)).toEqual({
        revokedTokenId: redemption.accessToken.tokenId,
      });
      expect(await on.redemption.findReplay(redemption)).toEqual({ revokedTokenId: undefined });
      expect(await on.refresh.findLive(familyId, 1)).toBeUndefined();
      expect(await on.audit(familyId, 'code.replayed')).toHaveLength(2);
      expect(await on.audit(familyId, 'refresh.family_revoked')).toHaveLength(1);
    });

    it('records the access token of a replayed code as revoked once, also without a family (RFC 6749 section 4.1.2)', async () => {
      const before = await on.revocations.newestChange();
      const redemption = request({ family: undefined });
      await on.redemption.redeem(redemption);
      expect(await on.revocations.changesAfter(before, 10)).toEqual([]);
      const { tokenId, audience } = redemption.accessToken;
      for (let time = 0; time < 2; time += 1) await on.redemption.redeem(redemption);
      expect(await on.revocations.changesAfter(before, 10)).toMatchObject([
        { ...owner, tokenId, userId: 'u1', sessionId: 'session-1', resource: audience },
      ]);
      expect(await on.revocations.revokedAccessTokens()).toContain(tokenId);
    });

    it('leaves the access token of a device code or auth_req_id alone (RFC 8628 section 3.5)', async () => {
      const redemption = request({ kind: 'device_code' });
      await on.redemption.redeem(redemption);
      expect(await on.redemption.redeem(redemption)).toEqual({ kind: 'replayed', revokedTokenId: undefined });
      expect(await on.revocations.revokedAccessTokens()).not.toContain(redemption.accessToken.tokenId);
    });

    it('treats a replay of a code that an earlier version redeemed as before, without its access token', async () => {
      const redemption = request();
      await on.redemption.redeem(redemption);
      await database.query({
        name: 'test.forget_token',
        text: 'UPDATE token.redemption SET token_id = NULL, user_id = NULL, client_id = NULL, session_id = NULL WHERE hash = $1',
        values: [redemption.hash],
      });
      expect(await on.redemption.redeem(redemption)).toEqual({ kind: 'replayed', revokedTokenId: undefined });
      expect(await on.refresh.findLive(redemption.family?.familyId ?? '', 1)).toBeUndefined();
    });

    it.each(['device_code', 'auth_req_id'] as const)(
      'refuses a second poll with an approved %s and leaves the family of the first alone (RFC 8628 section 3.5)',
      async (kind) => {
        const redemption = { ...request(), kind };
        const familyId = redemption.family?.familyId ?? '';
        await on.redemption.redeem(redemption);
        expect(await on.redemption.redeem({ ...redemption, family: request().family })).toMatchObject({
          kind: 'replayed',
        });
        expect((await on.refresh.findLive(familyId, 1))?.grant).toMatchObject(owner);
        expect(await on.audit(familyId, 'refresh.family_revoked')).toEqual([]);
      },
    );

    it('redeems no code of an ended session, but other values that were approved in it (SES-7, F2)', async () => {
      const sessionId = systemRandom.bytes(16).toString('base64url');
      const before = request({ sessionId });
      expect(await on.redemption.redeem(before)).toMatchObject({ kind: 'redeemed' });
      for (let time = 0; time < 2; time += 1) await on.redemption.noteSessionEnd('acme', sessionId, trail);
      const code = request({ sessionId });
      expect(await on.redemption.redeem(code)).toMatchObject({ kind: 'session_ended' });
      expect(await on.redemption.findReplay(code)).toBeUndefined();
      expect(await on.refresh.findLive(code.family?.familyId ?? '', 1)).toBeUndefined();
      expect(await on.events(code.family?.familyId ?? '')).toEqual([]);
      expect(await on.redemption.redeem(before)).toMatchObject({ kind: 'replayed' });
      expect(await on.redemption.redeem(request({ sessionId, kind: 'device_code' }))).toMatchObject({
        kind: 'redeemed',
      });
      expect(await on.redemption.redeem(request({ sessionId, tenantId: 'globex' }))).toMatchObject({
        kind: 'redeemed',
      });
      expect(await on.redemption.redeem(request())).toMatchObject({ kind: 'redeemed' });
    });

    it('keeps markers of values that started no family', async () => {
      const redemption = request({ family: undefined });
      expect(await on.redemption.redeem(redemption)).toMatchObject({ kind: 'redeemed' });
      expect(await on.redemption.redeem(redemption)).toMatchObject({ kind: 'replayed' });
    });

    it('keeps markers for a week, so that a replay is detected, and deletes them in batches', async () => {
      while ((await on.redemption.purgeOld(1000)) > 0);
      const redemptions = [request(), request(), request()];
      for (const redemption of redemptions) await on.redemption.redeem(redemption);
      const age = (interval: string) =>
        database.query({
          name: 'test.age_markers',
          text: 'UPDATE token.redemption SET redeemed_at = redeemed_at - $2::interval WHERE hash = ANY ($1::bytea[])',
          values: [redemptions.map(({ hash }) => hash), interval],
        });
      await age('6 days 23:59:00');
      expect(await on.redemption.purgeOld(10)).toBe(0);
      for (const redemption of redemptions)
        expect(await on.redemption.redeem(redemption)).toMatchObject({ kind: 'replayed' });
      await age('2 minutes');
      expect(await on.redemption.purgeOld(2)).toBe(2);
      expect(await on.redemption.purgeOld(2)).toBe(1);
    });

    it('keeps ended sessions for a day, longer than any code, and deletes them in batches', async () => {
      while ((await on.redemption.purgeSessionEnds(1000)) > 0);
      const sessionIds = [1, 2, 3].map(() => systemRandom.bytes(16).toString('base64url'));
      for (const sessionId of sessionIds) await on.redemption.noteSessionEnd('acme', sessionId, trail);
      const age = (interval: string) =>
        database.query({
          name: 'test.age_ended_sessions',
          text: 'UPDATE token.ended_session SET ended_at = ended_at - $2::interval WHERE session_id = ANY ($1)',
          values: [sessionIds, interval],
        });
      await age('23:59:00');
      expect(await on.redemption.purgeSessionEnds(10)).toBe(0);
      const [sessionId = ''] = sessionIds;
      expect(await on.redemption.redeem(request({ sessionId }))).toMatchObject({ kind: 'session_ended' });
      await age('00:02:00');
      expect(await on.redemption.purgeSessionEnds(2)).toBe(2);
      expect(await on.redemption.purgeSessionEnds(2)).toBe(1);
    });

    it('keeps tenants and kinds apart', async () => {
      const hash = systemRandom.bytes(32);
      const kinds: RedemptionKind[] = ['authorization_code', 'device_code', 'auth_req_id'];
      for (const kind of kinds) {
        for (const tenantId of ['acme', 'globex']) {
          const redemption = request({ hash, kind, tenantId });
          expect(await on.redemption.redeem(redemption)).toMatchObject({ kind: 'redeemed' });
        }
      }
    });
  });
}
