import { beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import { type Database } from '@tessera/stores';
import { newFamilyId } from '../../refresh-token-format.ts';
import { bench, grant, owner, trail, type Bench } from './fixture.ts';

/** What revocation and look-up must do on every engine. */
export function revocationContract(engine: string, open: () => Promise<Database>): void {
  describe(`revocation of refresh families on ${engine}`, () => {
    let on: Bench;
    let database: Database;
    beforeAll(async () => {
      database = await open();
      on = bench(database);
    });

    it('revokes once and keeps the first reason, address and audit row', async () => {
      const { familyId, request } = await on.start();
      const first = { familyId, owner: undefined, reason: 'device lost', trail };
      expect(await on.refresh.revoke(first)).toBe('revoked');
      const again = { ...first, reason: 'again', trail: { ...trail, ipAddress: '198.51.100.1' } };
      expect(await on.refresh.revoke(again)).toBe('already_revoked');
      expect(await on.refresh.rotate(request(1))).toEqual({ kind: 'revoked' });
      const { rows } = await database.query({
        name: 'test.revocation',
        text: 'SELECT revoked_cause, revoked_reason, revoked_by_ip FROM token.refresh_family WHERE family_id = $1::uuid',
        values: [familyId],
      });
      expect(rows).toEqual([
        { revoked_cause: 'revoked', revoked_reason: 'device lost', revoked_by_ip: '192.0.2.7' },
      ]);
      expect(await on.audit(familyId, 'token.revoked')).toMatchObject([
        {
          tenant_id: 'acme',
          record: { subject: 'u1', ipAddress: '192.0.2.7', details: { reason: 'device lost' } },
        },
      ]);
    });

    it('revokes only families of the owner if one is given (RFC 7009 section 2.1)', async () => {
      const { familyId } = await on.start();
      const request = { familyId, reason: '', trail };
      for (const foreign of [
        { ...owner, clientId: 'other' },
        { ...owner, tenantId: 'globex' },
        { tenantId: 'globex', clientId: undefined },
      ]) {
        expect(await on.refresh.revoke({ ...request, owner: foreign })).toBe('unknown');
      }
      expect(await on.refresh.findLive(familyId, 1)).toBeDefined();
      expect(await on.refresh.revoke({ ...request, owner })).toBe('revoked');
      const { familyId: another } = await on.start();
      const ofTenant = { ...request, familyId: another, owner: { ...owner, clientId: undefined } };
      expect(await on.refresh.revoke(ofTenant)).toBe('revoked');
      expect(
        await on.refresh.revoke({ ...request, familyId: newFamilyId(systemRandom), owner: undefined }),
      ).toBe('unknown');
    });

    it('knows the issuer of a family, revoked or not', async () => {
      const { familyId } = await on.start();
      expect(await on.refresh.issuerOf(familyId)).toBe(grant.issuer);
      await on.refresh.revoke({ familyId, owner, reason: '', trail });
      expect(await on.refresh.issuerOf(familyId)).toBe(grant.issuer);
      expect(await on.refresh.issuerOf(newFamilyId(systemRandom))).toBeUndefined();
    });

    it('finds a family only by its live generation', async () => {
      const { familyId, request } = await on.start();
      await on.refresh.rotate(request(1));
      expect(await on.refresh.findLive(familyId, 1)).toBeUndefined();
      const live = await on.refresh.findLive(familyId, 2);
      expect(live?.grant).toEqual(grant);
      expect(live && live.expiresAt - live.issuedAt).toBe(3600);
    });

    it('reads the grant of a family that version 0.1 started', async () => {
      const { familyId, request } = await on.start();
      await on.forgetUserGrant(familyId);
      const { authentication } = grant;
      expect((await on.refresh.findLive(familyId, 1))?.grant).toMatchObject({ ...owner, authentication });
      expect(await on.refresh.rotate(request(1))).toMatchObject({ kind: 'rotated', grant: { ...owner } });
    });

    it('deletes families a day after their absolute expiry, in batches', async () => {
      const families = [await on.start(), await on.start(), await on.start()];
      await on.refresh.purgeExpired(1000);
      for (const { familyId } of families) await on.elapse(familyId, 7200 + 86_400 - 60);
      expect(await on.refresh.purgeExpired(10)).toBe(0);
      for (const { familyId } of families) await on.elapse(familyId, 120);
      expect(await on.refresh.purgeExpired(2)).toBe(2);
      expect(await on.refresh.purgeExpired(2)).toBe(1);
    });
  });
}
