import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { billing, orders } from '../testing/declared-records.ts';
import { claimsOf, codeOf, grantOf, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

describe.each([
  {
    grantType: 'device_code',
    parameter: 'deviceCode',
    prefix: 'td_',
    named: 'device_code',
  },
  { grantType: 'ciba', parameter: 'authReqId', prefix: 'ta_', named: 'auth_req_id' },
])('the $grantType grant', ({ grantType, parameter, prefix, named }) => {
  const poll = (secret: string, clientId = 'web', resource = '') =>
    on.exchange(clientId, { grantType, [parameter]: secret, resource });

  it('answers authorization_pending until the user decides, then issues the tokens once', async () => {
    const secret = on.device.start(prefix);
    expect(await codeOf(poll(secret))).toBe('authorization_pending');
    on.device.approve(secret, grantOf());
    const answer = await poll(secret);
    expect(claimsOf(answer.accessToken)).toMatchObject({ sub: 'ada', role: ['clerk'] });
    expect(claimsOf(answer.idToken)).not.toHaveProperty('nonce');
    expect((await on.refresh(answer.refreshToken)).accessToken).not.toBe('');
  });

  it('names the password in the ID token, or nothing if a webhook approved (OIDC Core §2, RFC 8176 §2)', async () => {
    const idToken = async (sessionId: string) => {
      const secret = on.device.start(prefix);
      on.device.approve(secret, { ...grantOf(), sessionId });
      return claimsOf((await poll(secret)).idToken);
    };
    expect(await idToken('session-1')).toMatchObject({ sid: 'session-1', acr: '1', amr: ['pwd'] });
    const byWebhook = await idToken('');
    for (const name of ['sid', 'acr', 'amr']) expect(byWebhook).not.toHaveProperty(name);
  });

  it('issues the tokens to one of twenty parallel polls (F18)', async () => {
    const secret = on.device.start(prefix);
    on.device.approve(secret, grantOf());
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => codeOf(poll(secret))));
    expect(outcomes.filter((outcome) => outcome === 'no error')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'invalid_grant')).toHaveLength(19);
  });

  it('refuses another client and a request without the value', async () => {
    const secret = on.device.start(prefix);
    on.device.approve(secret, grantOf());
    expect(await codeOf(poll(secret, 'other'))).toBe('invalid_grant');
    await expect(poll('')).rejects.toThrow(named);
    expect((await poll(secret)).accessToken).not.toBe('');
  });

  it('is for the resource of the poll if the grant has none and the application has a scope of it (RFC 8707 section 2.2)', async () => {
    const secret = on.device.start(prefix);
    on.device.approve(secret, { ...grantOf(), scopes: ['openid'], resource: '' });
    expect(await codeOf(poll(secret, 'web', billing))).toBe('invalid_target');
    expect(claimsOf((await poll(secret, 'web', orders)).accessToken)).toMatchObject({ aud: orders });
  });

  it('is not offered without a device service', async () => {
    const without = await world({ withoutDevice: true });
    const asked = without.exchange('web', { grantType, [parameter]: 'x' });
    expect(await codeOf(asked)).toBe('unsupported_grant_type');
    await without.close();
  });
});
