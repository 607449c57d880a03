import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '@tessera/stores';
import { bench, grant, retryWindow, type Bench } from './fixture.ts';

/** What rotation must do on every engine. */
export function rotationContract(engine: string, open: () => Promise<Database>): void {
  describe(`rotation of refresh families on ${engine}`, () => {
    let on: Bench;
    beforeAll(async () => {
      on = bench(await open());
    });

    it('returns the next generation with the grant, and writes one audit row (RFC 6749 section 6)', async () => {
      const { familyId, request } = await on.start();
      const details = { jti: 'token-1' };
      const first = await on.refresh.rotate(request(1, { trail: { ...request(1).trail, details } }));
      expect(first).toMatchObject({ kind: 'rotated', generation: 2, grant });
      expect(await on.refresh.rotate(request(2))).toMatchObject({ kind: 'rotated', generation: 3 });
      const audit = await on.audit(familyId, 'refresh.rotated');
      expect(audit).toHaveLength(2);
      expect(audit[0]).toMatchObject({
        tenant_id: 'acme',
        outcome: 'success',
        record: { subject: 'u1', sessionId: 'session-1', clientId: 'web', ipAddress: '192.0.2.7', details },
      });
    });

    it('returns the same successor again within the retry window until the successor is used', async () => {
      const { familyId, request } = await on.start();
      await on.refresh.rotate(request(1));
      expect(await on.refresh.rotate(request(1))).toMatchObject({ kind: 'retried', generation: 2, grant });
      expect(await on.refresh.rotate(request(1))).toMatchObject({ kind: 'retried', generation: 2 });
      await on.refresh.rotate(request(2));
      expect(await on.refresh.rotate(request(1))).toEqual({ kind: 'reuse_detected' });
      expect(await on.refresh.rotate(request(3))).toEqual({ kind: 'revoked' });
      expect((await on.events(familyId)).filter((event) => event === 'refresh.retried')).toHaveLength(2);
    });

    it('measures the retry window by the clock of the database', async () => {
      const inside = await on.start();
      await on.refresh.rotate(inside.request(1));
      await on.elapse(inside.familyId, retryWindow - 2);
      expect(await on.refresh.rotate(inside.request(1))).toMatchObject({ kind: 'retried', generation: 2 });
      const outside = await on.start();
      await on.refresh.rotate(outside.request(1));
      await on.elapse(outside.familyId, retryWindow);
      expect(await on.refresh.rotate(outside.request(1))).toEqual({ kind: 'reuse_detected' });
    });

    it('detects immediate reuse if the window is 0', async () => {
      const { request } = await on.start();
      const exact = { retryWindowSeconds: 0 };
      await on.refresh.rotate(request(1, exact));
      expect(await on.refresh.rotate(request(1, exact))).toEqual({ kind: 'reuse_detected' });
      expect(await on.refresh.rotate(request(2, exact))).toEqual({ kind: 'revoked' });
    });

    it('revokes the family for good if an older generation is reused, and audits both facts once (RFC 9700 section 4.14.2)', async () => {
      const { familyId, request } = await on.start();
      for (const generation of [1, 2, 3]) await on.refresh.rotate(request(generation));
      expect(await on.refresh.rotate(request(1))).toEqual({ kind: 'reuse_detected' });
      for (const generation of [1, 2, 3, 4]) {
        expect(await on.refresh.rotate(request(generation))).toEqual({ kind: 'revoked' });
        expect(await on.refresh.findLive(familyId, generation)).toBeUndefined();
      }
      expect(await on.audit(familyId, 'refresh.reuse_detected')).toMatchObject([
        { outcome: 'failure', reason: 'reuse_detected', record: { subject: 'u1' } },
      ]);
      expect(await on.audit(familyId, 'refresh.family_revoked')).toMatchObject([
        { reason: 'reuse_detected' },
      ]);
    });

    it('refuses another client or tenant and changes nothing, whatever generation is presented', async () => {
      const { familyId, request } = await on.start();
      await on.refresh.rotate(request(1));
      await on.refresh.rotate(request(2));
      for (const generation of [1, 2, 3]) {
        const foreign = await on.refresh.rotate(request(generation, { clientId: 'other' }));
        expect(foreign).toEqual({ kind: 'client_mismatch' });
        expect(await on.refresh.rotate(request(generation, { tenantId: 'globex' }))).toEqual({
          kind: 'unknown',
        });
      }
      expect(await on.audit(familyId, 'refresh.client_mismatch')).toHaveLength(3);
      expect(await on.refresh.rotate(request(3))).toMatchObject({ kind: 'rotated', generation: 4 });
    });

    it('refuses wider scope and another resource and consumes nothing (RFC 6749 section 6)', async () => {
      const { request } = await on.start();
      const wider = request(1, { scopes: ['orders.read', 'billing.read'] });
      expect(await on.refresh.rotate(wider)).toEqual({ kind: 'scope_exceeded' });
      const elsewhere = request(1, { resources: ['https://billing.acme.example', ''] });
      expect(await on.refresh.rotate(elsewhere)).toEqual({ kind: 'resource_mismatch' });
      const narrower = request(1, { scopes: ['orders.read'], resources: [grant.resource] });
      expect(await on.refresh.rotate(narrower)).toMatchObject({ kind: 'rotated', generation: 2, grant });
    });

    it('accepts a family without a resource if the request allows that (RFC 8707 section 2.2)', async () => {
      const bare = { ...grant, scopes: ['openid', 'offline_access'], resource: '' };
      const { request } = await on.start({ grant: bare });
      expect(await on.refresh.rotate(request(1, { resources: [grant.resource] }))).toEqual({
        kind: 'resource_mismatch',
      });
      const rotated = await on.refresh.rotate(request(1, { resources: [grant.resource, ''] }));
      expect(rotated).toMatchObject({ kind: 'rotated', generation: 2, grant: bare });
    });

    it('refuses a generation that was never made', async () => {
      const { request } = await on.start();
      expect(await on.refresh.rotate(request(7))).toEqual({ kind: 'unknown' });
      expect(await on.refresh.rotate(request(1))).toMatchObject({ kind: 'rotated' });
    });

    expiry(() => on);
    undelivered(() => on);
  });
}

function expiry(on: () => Bench): void {
  it('expires an unused family, without detecting reuse afterwards', async () => {
    const { familyId, request } = await on().start({ idleSeconds: 100, absoluteSeconds: 1000 });
    await on().elapse(familyId, 99);
    expect(await on().refresh.rotate(request(1, { idleSeconds: 100 }))).toMatchObject({ kind: 'rotated' });
    await on().elapse(familyId, 99);
    expect(await on().refresh.findLive(familyId, 2)).toBeDefined();
    await on().elapse(familyId, 1);
    expect(await on().refresh.rotate(request(2))).toEqual({ kind: 'expired' });
    expect(await on().refresh.rotate(request(1))).toEqual({ kind: 'expired' });
    expect(await on().refresh.findLive(familyId, 2)).toBeUndefined();
  });

  it('expires a family at its absolute expiry, however often it is used (RFC 9700 section 4.14)', async () => {
    const { familyId, request } = await on().start({ idleSeconds: 100, absoluteSeconds: 250 });
    for (const generation of [1, 2, 3, 4]) {
      await on().elapse(familyId, 60);
      expect(await on().refresh.rotate(request(generation, { idleSeconds: 100 }))).toMatchObject({
        kind: 'rotated',
      });
    }
    await on().elapse(familyId, 10);
    expect(await on().refresh.rotate(request(5, { idleSeconds: 100 }))).toEqual({ kind: 'expired' });
  });
}

function undelivered(on: () => Bench): void {
  it('keeps an undelivered successor for its predecessor, beyond the window, until it is delivered', async () => {
    const { familyId, request } = await on().start();
    await on().refresh.rotate(request(1));
    await on().refresh.recordUndelivered({ ...request(2) });
    await on().elapse(familyId, retryWindow * 10);
    expect(await on().refresh.rotate(request(1))).toMatchObject({ kind: 'retried', generation: 2, grant });
    expect(await on().refresh.rotate(request(1))).toMatchObject({ kind: 'retried', generation: 2 });
    await on().elapse(familyId, retryWindow);
    expect(await on().refresh.rotate(request(1))).toEqual({ kind: 'reuse_detected' });
    expect(await on().audit(familyId, 'refresh.undelivered')).toHaveLength(1);
  });

  it('leaves a client whose successor was not delivered with its token: found, revocable, and with its former expiry', async () => {
    const { familyId, request } = await on().start({ idleSeconds: 100, absoluteSeconds: 1000 });
    const before = await on().refresh.findLive(familyId, 1);
    const idle = { idleSeconds: 100 };
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await on().elapse(familyId, 30);
      expect(await on().refresh.rotate(request(1, idle))).toMatchObject({ generation: 2 });
      await on().refresh.recordUndelivered(request(2));
    }
    const left = await on().refresh.findLive(familyId, 1);
    expect(left && before && [before.issuedAt - left.issuedAt, before.expiresAt - left.expiresAt]).toEqual([
      60, 60,
    ]);
    expect(await on().refresh.rotate(request(1, idle))).toMatchObject({ kind: 'retried' });
    expect(await on().refresh.findLive(familyId, 1)).toBeUndefined();
    const delivered = await on().refresh.findLive(familyId, 2);
    expect(delivered && delivered.expiresAt - delivered.issuedAt).toBe(100);
    await on().elapse(familyId, 30);
    await on().refresh.rotate(request(2, idle));
    await on().refresh.recordUndelivered(request(3));
    await on().elapse(familyId, 70);
    expect(await on().refresh.findLive(familyId, 2)).toBeUndefined();
    expect(await on().refresh.rotate(request(2, idle))).toEqual({ kind: 'expired' });
  });

  it('does not record an undelivered generation if it is no longer live or the family is revoked', async () => {
    const { familyId, request } = await on().start();
    await on().refresh.rotate(request(1));
    await on().refresh.rotate(request(2));
    await on().refresh.recordUndelivered({ ...request(2) });
    expect(await on().audit(familyId, 'refresh.undelivered')).toHaveLength(0);
    await on().refresh.revoke({ familyId, owner: undefined, reason: '', trail: request(1).trail });
    await on().refresh.recordUndelivered({ ...request(3) });
    expect(await on().refresh.rotate(request(2))).toEqual({ kind: 'revoked' });
  });
}
