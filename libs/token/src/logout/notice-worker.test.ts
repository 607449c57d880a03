import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, exportJWK, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { metrics } from '@tessera/telemetry';
import { LogoutNoticeResult } from '@tessera/proto-gen/authorize';
import { Status } from '@tessera/proto-gen/directory';
import { eventually, startReceiver, type Receiver } from '@tessera/test-kit';
import { addUmbra, umbraIssuer } from '../testing/umbra.ts';
import { issuer, world, type World } from '../testing/world.ts';

let t: World;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  t = await world({ settings: { TESSERA_ALLOW_PRIVATE: 'webhooks' } });
});
afterAll(async () => {
  await t.close();
  await receiver.close();
});
beforeEach(async () => {
  receiver.received.length = 0;
  await t.directory.changeApplication('web', { backchannelLogoutUri: receiver.url });
});

const outcome = (noticeId: string, on = t) => on.authorize.notices.outcome(noticeId);

describe('logout tokens (OIDC Back-Channel Logout §2.4 and §2.5)', () => {
  it('are posted as a form, signed and typed, with sub, sid, events and without a nonce', async () => {
    const noticeId = t.authorize.notices.notify({ clientId: 'web', userId: 'ada', sessionId: 's1', issuer });
    await outcome(noticeId);
    const [request] = await receiver.gotAll(1);
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    const form = new URLSearchParams(request?.body);
    expect([...form.keys()]).toEqual(['logout_token']);
    const jwk = { ...(await exportJWK(t.key.publicKey)), kid: 'key-1', alg: 'RS256' };
    const { payload, protectedHeader } = await jwtVerify(
      form.get('logout_token') ?? '',
      createLocalJWKSet({ keys: [jwk] }),
      { issuer, audience: 'web', typ: 'logout+jwt', algorithms: ['RS256'] },
    );
    expect(protectedHeader.typ).toBe('logout+jwt');
    const { iat = 0, exp = 0, ...claims } = payload;
    expect(claims).toEqual({
      iss: issuer,
      sub: 'ada',
      aud: 'web',
      jti: noticeId,
      sid: 's1',
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    });
    expect(exp - iat).toBe(120);
    expect(await outcome(noticeId)).toEqual({ result: LogoutNoticeResult.DELIVERED, reason: '' });
  });

  it('are signed with the keys of the issuer of the session, and not sent once that is no issuer of the tenant', async () => {
    const on = await world({
      settings: { TESSERA_ALLOW_PRIVATE: 'webhooks', TESSERA_ISSUER: issuer },
    });
    await addUmbra(on);
    const register = { backchannelLogoutUri: receiver.url };
    for (const clientId of ['web', 'umbra-web']) await on.directory.changeApplication(clientId, register);
    const notify = (tenantId: string, clientId: string, at: string) =>
      on.authorize.notices.notify({ tenantId, clientId, userId: 'gus', sessionId: 's7', issuer: at });
    const signed = async (noticeId: string) => {
      const { length } = receiver.received;
      expect(await outcome(noticeId, on)).toMatchObject({ result: LogoutNoticeResult.DELIVERED });
      const token = new URLSearchParams(receiver.received[length]?.body).get('logout_token') ?? '';
      return [decodeJwt(token).iss, decodeProtectedHeader(token).kid];
    };
    expect(await signed(notify('umbra', 'umbra-web', umbraIssuer))).toEqual([umbraIssuer, 'key-umbra']);
    expect(await signed(notify('umbra', 'umbra-web', issuer))).toEqual([issuer, 'key-1']);
    expect(await signed(notify('acme', 'web', issuer))).toEqual([issuer, 'key-1']);
    const sent = receiver.received.length;
    const changed = { result: LogoutNoticeResult.FAILED, reason: 'issuer_changed' };
    expect(await outcome(notify('umbra', 'umbra-web', 'https://old.umbra.example'), on)).toEqual(changed);
    expect(await outcome(notify('acme', 'web', umbraIssuer), on)).toEqual(changed);
    expect(receiver.received).toHaveLength(sent);
    await on.close();
  });

  it('are sent again after errors, each time signed anew under the same jti', async () => {
    receiver.answer(503);
    const noticeId = t.authorize.notices.notify({ clientId: 'web', userId: 'ada', sessionId: 's2', issuer });
    expect(await outcome(noticeId)).toEqual({ result: LogoutNoticeResult.DELIVERED, reason: '' });
    expect(receiver.received).toHaveLength(2);
    expect(await metrics.text()).toMatch(/^tessera_deliveries_total\{mode="logout",outcome="failed"\} 1$/m);
  });

  it.each([400, 302, 404])('are given up after status %d', async (status) => {
    receiver.answer(status);
    const noticeId = t.authorize.notices.notify({ clientId: 'web', userId: 'ada', sessionId: 's3', issuer });
    const failed = { result: LogoutNoticeResult.FAILED, reason: `status_${status}` };
    expect(await outcome(noticeId)).toEqual(failed);
    expect(receiver.received).toHaveLength(1);
  });

  it('are not sent for an inactive application, one of another tenant, or one without an address', async () => {
    await t.directory.changeApplication('web', { backchannelLogoutUri: '' });
    const notice = { clientId: 'web', userId: 'ada', sessionId: 's4', issuer };
    expect(await outcome(t.authorize.notices.notify(notice))).toMatchObject({ reason: 'no_endpoint' });
    expect(await outcome(t.authorize.notices.notify({ ...notice, tenantId: 'umbra' }))).toMatchObject({
      reason: 'application_inactive',
    });
    await t.directory.changeApplication('web', {
      backchannelLogoutUri: receiver.url,
      status: Status.DISABLED,
    });
    expect(await outcome(t.authorize.notices.notify(notice))).toMatchObject({
      reason: 'application_inactive',
    });
    await t.directory.changeApplication('web', { status: Status.ACTIVE });
    expect(receiver.received).toHaveLength(0);
  });

  it('wait while the keys are unavailable, without counting an attempt', async () => {
    t.keys.line.cut = true;
    const noticeId = t.authorize.notices.notify({ clientId: 'web', userId: 'ada', sessionId: 's5', issuer });
    await eventually('it is given back', () => t.authorize.notices.givenBack(noticeId) > 0);
    t.keys.line.cut = false;
    expect(await outcome(noticeId)).toMatchObject({ result: LogoutNoticeResult.DELIVERED });
  });

  it('are refused to private addresses and plain http by default, as webhooks are', async () => {
    const guarded = await world();
    let connections = 0;
    const server = createServer().on('connection', () => (connections += 1));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const expected = [
      [`https://127.0.0.1:${port}/`, 'private_address'],
      [`https://localhost:${port}/`, 'private_address'],
      [`http://127.0.0.1:${port}/`, 'not_https'],
    ] as const;
    for (const [backchannelLogoutUri, reason] of expected) {
      await guarded.directory.changeApplication('web', { backchannelLogoutUri });
      const notice = { clientId: 'web', userId: 'ada', sessionId: 's6', issuer };
      expect(await outcome(guarded.authorize.notices.notify(notice), guarded)).toEqual({
        result: LogoutNoticeResult.FAILED,
        reason,
      });
    }
    expect(connections).toBe(0);
    await guarded.close();
    server.close();
  });
});
