import { describe, expect, it } from 'vitest';
import { OAuthError } from '@tessera/oauth';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const open = (behaviours: Behaviours = {}, environment: Record<string, string> = {}) =>
  openGateway(
    testRuntime(),
    {
      startDeviceAuthorization: () => ({
        deviceCode: 'td_1',
        userCode: 'WDJB-MJHT',
        expiresIn: 600,
        interval: 5,
      }),
      startBackchannelAuthentication: () => ({ authReqId: 'ta_1', expiresIn: 300, interval: 5 }),
      ...behaviours,
    },
    environment,
  );
const post = (gateway: ReturnType<typeof open>, url: string, payload: string, headers: object = {}) =>
  gateway.app.inject({ method: 'POST', url, headers: { ...form, ...headers }, payload });

describe('POST /device_authorization', () => {
  it('answers as RFC 8628 §3.2 requires, with URIs of the issuer', async () => {
    const gateway = open({}, { TESSERA_ISSUER: 'https://id.example.com' });
    const answer = await post(
      gateway,
      '/device_authorization',
      'client_id=tv&scope=openid&resource=https%3A%2F%2Fapi',
      {
        host: 'evil.example',
      },
    );
    expect(answer.json()).toEqual({
      device_code: 'td_1',
      user_code: 'WDJB-MJHT',
      verification_uri: 'https://id.example.com/device',
      verification_uri_complete: 'https://id.example.com/device?user_code=WDJB-MJHT',
      expires_in: 600,
      interval: 5,
    });
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(gateway.requests('startDeviceAuthorization')[0]).toMatchObject({
      credentials: { clientId: 'tv', clientSecret: '', attempted: false },
      scope: 'openid',
      resource: 'https://api',
      caller: { issuer: 'https://id.example.com', ipAddress: '127.0.0.1' },
    });
  });
});

describe('POST /backchannel_authentication', () => {
  it('answers as CIBA Core §7.3 requires', async () => {
    const gateway = open();
    const answer = await post(
      gateway,
      '/backchannel_authentication',
      'client_id=web&client_secret=s&scope=openid&login_hint=ada&binding_message=W4SCT&requested_expiry=120',
    );
    expect(answer.json()).toEqual({ auth_req_id: 'ta_1', expires_in: 300, interval: 5 });
    expect(gateway.requests('startBackchannelAuthentication')[0]).toMatchObject({
      credentials: { clientId: 'web', clientSecret: 's', attempted: true },
      scope: 'openid',
      loginHint: 'ada',
      bindingMessage: 'W4SCT',
      requestedExpiry: 120,
    });
  });

  it.each(['0', '-1', '1.5', 'x', '1e3', '9999999999'])('refuses the requested expiry %j', async (expiry) => {
    const answer = await post(
      open(),
      '/backchannel_authentication',
      `client_id=web&requested_expiry=${expiry}`,
    );
    expect([answer.statusCode, answer.json<{ error: string }>().error]).toEqual([400, 'invalid_request']);
  });

  it.each(['id_token_hint=x', 'login_hint_token=x', 'login_hint=ada&id_token_hint=x'])(
    'refuses the hint %j clearly, without a call (CIBA Core §7.1)',
    async (hint) => {
      const gateway = open();
      const answer = await post(gateway, '/backchannel_authentication', `client_id=web&scope=openid&${hint}`);
      expect([answer.statusCode, answer.json()]).toEqual([
        400,
        { error: 'invalid_request', error_description: 'The only hint that is supported is login_hint.' },
      ]);
      expect(gateway.requests('startBackchannelAuthentication')).toEqual([]);
    },
  );

  it('forwards the client_notification_token (CIBA Core §7.1)', async () => {
    const gateway = open({
      startBackchannelAuthentication: () => ({ authReqId: 'ta_1', expiresIn: 300, interval: 5 }),
    });
    const answer = await post(
      gateway,
      '/backchannel_authentication',
      'client_id=web&scope=openid&login_hint=ada&client_notification_token=8d67dc78-7faa',
    );
    expect(answer.json()).toEqual({ auth_req_id: 'ta_1', expires_in: 300, interval: 5 });
    expect(gateway.requests('startBackchannelAuthentication')).toMatchObject([
      { clientNotificationToken: '8d67dc78-7faa' },
    ]);
  });

  it('accepts acr_values', async () => {
    const answer = await post(
      open(),
      '/backchannel_authentication',
      'client_id=web&scope=openid&login_hint=ada&acr_values=1',
    );
    expect(answer.statusCode).toBe(200);
  });

  it('forwards the error codes of CIBA Core §13', async () => {
    const gateway = open({
      startBackchannelAuthentication: () => {
        throw new OAuthError('unknown_user_id', 'No such person.');
      },
    });
    const answer = await post(gateway, '/backchannel_authentication', 'client_id=web&login_hint=x');
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      { error: 'unknown_user_id', error_description: 'No such person.' },
    ]);
  });
});

describe.each(['/device_authorization', '/backchannel_authentication'])('POST %s', (url) => {
  it('refuses JSON with 415', async () => {
    const gateway = open();
    const answer = await gateway.app.inject({ method: 'POST', url, payload: { client_id: 'tv' } });
    expect([answer.statusCode, answer.json()]).toMatchObject([
      415,
      { isSuccess: false, error: 'invalid_request' },
    ]);
  });

  it('requires a client identifier', async () => {
    const answer = await post(open(), url, 'scope=openid');
    expect([answer.statusCode, answer.json<{ error: string }>().error]).toEqual([400, 'invalid_request']);
  });

  it('forwards credentials of the Authorization header', async () => {
    const gateway = open();
    await post(gateway, url, 'scope=openid', {
      authorization: `Basic ${Buffer.from('tv:s').toString('base64')}`,
    });
    const request =
      gateway.requests('startDeviceAuthorization')[0] ??
      gateway.requests('startBackchannelAuthentication')[0];
    expect(request?.credentials).toMatchObject({ clientId: 'tv', clientSecret: 's' });
  });

  it('reports that the header had credentials even if the secret is empty (RFC 6749 §2.3.1)', async () => {
    const gateway = open();
    const authorization = `Basic ${Buffer.from('tv:').toString('base64')}`;
    await post(gateway, url, 'scope=openid', { authorization });
    const request =
      gateway.requests('startDeviceAuthorization')[0] ??
      gateway.requests('startBackchannelAuthentication')[0];
    expect(request?.credentials).toMatchObject({ clientId: 'tv', clientSecret: '', attempted: true });
  });

  it('leaves clients with a secret to the rate limits of the device service', async () => {
    const gateway = open({}, { TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: '1' });
    const statuses = [];
    for (const payload of ['client_id=tv', 'client_id=tv', 'client_id=tv&client_secret=s']) {
      statuses.push((await gateway.app.inject({ method: 'POST', url, headers: form, payload })).statusCode);
    }
    expect(statuses).toEqual([200, 429, 200]);
  });

  it('limits requests per address without affecting other addresses', async () => {
    const gateway = open({}, { TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: '2' });
    const from = (remoteAddress: string) =>
      gateway.app.inject({ method: 'POST', url, headers: form, payload: 'client_id=tv', remoteAddress });
    const statuses = [];
    for (let time = 0; time < 3; time += 1) statuses.push((await from('203.0.113.9')).statusCode);
    expect(statuses).toEqual([200, 200, 429]);
    const limited = await from('203.0.113.9');
    expect(limited.json()).toMatchObject({ error: 'rate_limited' });
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
    expect((await from('203.0.113.10')).statusCode).toBe(200);
  });
});
