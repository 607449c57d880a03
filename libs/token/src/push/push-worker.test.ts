import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessTokenHash, leftHash } from '@tessera/oauth';
import { ApplicationType, Status } from '@tessera/proto-gen/directory';
import { eventually } from '@tessera/test-kit';
import { claimsOf, codeOf, grantOf, world, type World } from '../testing/world.ts';
import { refreshTokenHashClaim, requestIdClaim } from './push-grant.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

/** Approves a request and waits for its tokens. */
async function pushed(overrides: Partial<ReturnType<typeof grantOf>> = {}) {
  const authReqId = on.device.approvePush({ ...grantOf(), ...overrides });
  const [first] = await on.device.finished(authReqId);
  return { authReqId, ...first };
}

describe('pushed tokens', () => {
  it('are issued once, with an ID token that binds them together (CIBA Core §10.3.1)', async () => {
    const { authReqId, accepted, tokens } = await pushed();
    if (tokens === undefined) throw new Error('no tokens were pushed');
    expect(accepted).toBe(true);
    expect(claimsOf(tokens.accessToken)).toMatchObject({ sub: 'ada', client_id: 'web', role: ['clerk'] });
    const claims = claimsOf(tokens.idToken);
    expect(claims).toMatchObject({
      sub: 'ada',
      aud: 'web',
      at_hash: accessTokenHash(tokens.accessToken),
      [requestIdClaim]: authReqId,
      [refreshTokenHashClaim]: leftHash(tokens.refreshToken),
    });
    expect(claims).not.toHaveProperty('nonce');
    expect((await on.refresh(tokens.refreshToken)).accessToken).not.toBe('');
    const names = (await on.events()).map(({ event }) => event);
    expect(names).toContain('ciba.redeemed');
    expect(names).toContain('token.issued');
  });

  it('have no ID token without openid', async () => {
    const { accepted, tokens } = await pushed({ scopes: ['offline_access', 'orders.read'] });
    expect([accepted, tokens?.idToken]).toEqual([true, '']);
    expect(claimsOf(tokens?.accessToken ?? '')).toMatchObject({ scope: ['offline_access', 'orders.read'] });
    expect(tokens?.refreshToken).not.toBe('');
  });

  it('have no refresh token hash without a refresh token', async () => {
    const { tokens } = await pushed({ scopes: ['openid', 'orders.read'] });
    expect(tokens?.refreshToken).toBe('');
    expect(claimsOf(tokens?.idToken ?? '')).not.toHaveProperty(refreshTokenHashClaim);
  });

  it('are not issued for an inactive user or application (CIBA-2)', async () => {
    const { directory } = on;
    const give = [
      (status: Status) => directory.changeUser('bob', (record) => void (record.status = status)),
      (status: Status) => directory.changeApplication('other', (record) => void (record.status = status)),
    ];
    for (const change of give) {
      await change(Status.DISABLED);
      const { tokens, accepted } = await pushed({ clientId: 'other', userId: 'bob' });
      expect([tokens, accepted]).toEqual([undefined, true]);
      await change(Status.ACTIVE);
    }
    expect((await on.events()).map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['user_inactive', 'application_inactive']),
    );
  });

  it('are not issued for a user who no longer has a role that the application requires (DEV-2)', async () => {
    await on.directory.changeApplication('other', (record) => (record.allowedRoles = ['clerk']));
    const { tokens, accepted } = await pushed({ clientId: 'other', userId: 'bob' });
    expect([tokens, accepted]).toEqual([undefined, true]);
    expect((await pushed({ clientId: 'other', userId: 'ada' })).tokens).toBeDefined();
    await on.directory.changeApplication('other', (record) => (record.allowedRoles = []));
    expect((await on.events()).map(({ reason }) => reason)).toContain('role_missing');
  });

  it('are not issued if openid is no longer granted: nothing would bind them together (CIBA Core §10.3.1)', async () => {
    await on.directory.changeApplication('globex-web', (record) => {
      record.scopes = record.scopes.filter(({ name }) => name !== 'openid');
    });
    const scopes = ['openid', 'profile'];
    const { tokens } = await pushed({ tenantId: 'globex', clientId: 'globex-web', scopes, resource: '' });
    expect(tokens).toBeUndefined();
  });

  it('are not issued after the request has ended', async () => {
    const authReqId = on.device.approvePush(grantOf(), { ended: true });
    expect(await on.device.finished(authReqId)).toMatchObject([{ accepted: true, tokens: undefined }]);
  });

  it('are issued later if keys is unavailable', async () => {
    on.keys.line.cut = true;
    const authReqId = on.device.approvePush(grantOf());
    await new Promise((resolve) => setTimeout(resolve, 300));
    on.keys.line.cut = false;
    on.device.endLease(authReqId);
    const [only, ...others] = await on.device.finished(authReqId);
    expect(only).toMatchObject({ attempt: 2, accepted: true });
    expect(only?.tokens?.accessToken).not.toBe('');
    expect(others).toEqual([]);
  });

  it('are revoked if they were issued but not handed over in time', async () => {
    on.device.losing = true;
    const authReqId = on.device.approvePush(grantOf());
    const [lost] = await on.device.finished(authReqId);
    const refreshToken = lost?.tokens?.refreshToken ?? '';
    expect(await on.introspect(refreshToken)).toMatchObject({ active: true });
    on.device.losing = false;
    on.device.endLease(authReqId);
    const [, second] = await on.device.finished(authReqId, 2);
    expect(second).toEqual({ attempt: 2, accepted: true, tokens: undefined });
    expect(await on.introspect(refreshToken)).toMatchObject({ active: false });
    expect(await codeOf(on.refresh(refreshToken))).toBe('invalid_grant');
    const revoked = (await on.events()).filter(({ event }) => event === 'token.revoked');
    expect(revoked.at(-1)?.record).toMatchObject({ clientId: 'web', details: { reason: 'undelivered' } });
  });

  it('are revoked if the client did not accept them', async () => {
    const { authReqId, tokens } = await pushed();
    const refreshToken = tokens?.refreshToken ?? '';
    expect(await on.introspect(refreshToken)).toMatchObject({ active: true });
    on.device.withdraw(authReqId);
    const [, second] = await on.device.finished(authReqId, 2);
    expect(second).toEqual({ attempt: 1, accepted: true, tokens: undefined });
    expect(await on.introspect(refreshToken)).toMatchObject({ active: false });
  });

  it('are never valid twice, and never revoked once delivered, whatever two processes do at once', async () => {
    for (let round = 0; round < 20; round += 1) {
      const authReqId = on.device.approvePush(grantOf());
      // Handed out again while the first attempt may be anywhere.
      await new Promise((resolve) => setTimeout(resolve, round));
      on.device.endLease(authReqId);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const finished = await on.device.finished(authReqId, 0);
      const delivered = finished.filter(({ accepted }) => accepted);
      expect(delivered.length).toBeLessThanOrEqual(1);
      for (const { accepted, tokens } of finished) {
        if (tokens === undefined) continue;
        const { active } = await on.introspect(tokens.refreshToken);
        if (accepted) expect(active).toBe(true);
        // Issued in vain; the next process that takes the push ends it.
        else if (delivered.length === 1) expect(active).toBe(false);
      }
    }
  });

  it('are the only ones of their request, even if the client changed to polling and polls at the same time (I1)', async () => {
    const winners = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      const authReqId = on.device.approvePush(grantOf());
      on.device.approve(authReqId, grantOf());
      await new Promise((resolve) => setTimeout(resolve, 2 * round));
      const ask = () => codeOf(on.exchange('web', { grantType: 'ciba', authReqId }));
      const answers = await Promise.all([ask(), ask(), ask()]);
      const polled = answers.filter((answer) => answer === 'no error').length;
      // Where a poll was first, the push finds its marker: at once in its own commit, and by the next attempt for good.
      await eventually('the push is over', async () => {
        if (polled > 0) on.device.endLease(authReqId);
        return (await on.device.finished(authReqId, 0)).length > 0;
      });
      const pushes = (await on.device.finished(authReqId, 0)).filter(({ tokens }) => tokens !== undefined);
      expect(polled + pushes.length).toBe(1);
      expect(answers.filter((answer) => answer === 'invalid_grant')).toHaveLength(3 - polled);
      winners.add(polled > 0 ? 'poll' : 'push');
    }
    expect(winners).toContain('push');
  });
});

describe('a client in push mode', () => {
  it('must not use the token endpoint (CIBA Core §11)', async () => {
    await on.directory.changeApplication('spa', (record) => {
      Object.assign(record, { type: ApplicationType.PUBLIC, ciba: { delivery: 'push' } });
    });
    const authReqId = on.device.start('ta_');
    on.device.approve(authReqId, { ...grantOf(), clientId: 'spa' });
    expect(await codeOf(on.exchange('spa', { grantType: 'ciba', authReqId }))).toBe('unauthorized_client');
    await on.directory.changeApplication('spa', (record) => {
      record.ciba = { delivery: 'ping' };
    });
    expect(await codeOf(on.exchange('spa', { grantType: 'ciba', authReqId }))).toBe('no error');
  });
});
