import { describe, expect, it, onTestFinished } from 'vitest';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { ClientAuthenticationMethod } from '@tessera/proto-gen/token';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const shared = 'https://id.example';
const harbour = `${shared}/realms/harbour`;
const path = '/protocol/openid-connect/logout';
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const sent = 'client_id=desk&client_secret=s&refresh_token=rt';

async function open(behaviours: Behaviours = {}, endpoints = 'keycloak') {
  const issuers = [{ tenantId: 'harbour', issuer: harbour, endpoints }];
  const gateway = openGateway(
    testRuntime(),
    { listTenantIssuers: () => ({ issuers }), endGrantSession: () => ({}), ...behaviours },
    { TESSERA_ISSUER: shared },
  );
  onTestFinished(() => gateway.close());
  await gateway.app.ready();
  const post = async (
    payload: string,
    headers: Readonly<Record<string, string>> = {},
    url = `/realms/harbour${path}`,
  ) =>
    gateway.app.inject({
      method: 'POST',
      url,
      headers: { host: 'id.example', ...form, ...headers },
      payload,
    });
  return { gateway, post };
}

describe('POST /protocol/openid-connect/logout with a refresh token', () => {
  it('ends its session and answers 204, as adapters of Keycloak expect', async () => {
    const { gateway, post } = await open();
    const answer = await post(sent);
    expect([answer.statusCode, answer.body, answer.headers['cache-control']]).toEqual([204, '', 'no-store']);
    expect(answer.headers).not.toHaveProperty('set-cookie');
    expect(gateway.requests('endGrantSession')).toMatchObject([
      {
        refreshToken: 'rt',
        caller: { issuer: harbour, tenantId: 'harbour' },
        credentials: {
          clientId: 'desk',
          clientSecret: 's',
          method: ClientAuthenticationMethod.CLIENT_SECRET_POST,
        },
      },
    ]);
  });

  it('takes the credentials from the header, or the name alone of a public application (RFC 6749 section 2.3.1)', async () => {
    const { gateway, post } = await open();
    const authorization = `Basic ${Buffer.from('desk:s').toString('base64')}`;
    expect((await post('refresh_token=rt', { authorization })).statusCode).toBe(204);
    expect((await post('refresh_token=rt&client_id=shop')).statusCode).toBe(204);
    expect(gateway.requests('endGrantSession').map(({ credentials }) => credentials?.method)).toEqual([
      ClientAuthenticationMethod.CLIENT_SECRET_BASIC,
      ClientAuthenticationMethod.NONE,
    ]);
  });

  it('answers errors in the dialect of the standard (RFC 6749 section 5.2)', async () => {
    const failing = (error: OAuthError) => ({
      endGrantSession: () => {
        throw error;
      },
    });
    const refused = new OAuthError('invalid_grant', 'The refresh token is not valid.');
    for (const [error, status, code] of [
      [refused, 400, 'invalid_grant'],
      [new OAuthError('invalid_client', 'Client authentication failed.'), 401, 'invalid_client'],
      [temporarilyUnavailable(), 503, 'temporarily_unavailable'],
    ] as const) {
      const { post } = await open(failing(error));
      const answer = await post(sent);
      expect([answer.statusCode, answer.json()]).toMatchObject([status, { error: code }]);
    }
    const { gateway, post } = await open();
    for (const body of ['refresh_token=rt', 'refresh_token=&client_id=shop']) {
      const answer = await post(body);
      expect([answer.statusCode, answer.json()]).toMatchObject([400, { error: 'invalid_request' }]);
    }
    expect(gateway.requests('endGrantSession')).toEqual([]);
  });

  it('is not there without the endpoints of Keycloak, and a form at our path goes on as before', async () => {
    const standard = await open({}, 'standard');
    expect((await standard.post(sent)).statusCode).toBe(404);
    const { gateway, post } = await open();
    for (const url of ['/realms/harbour/logout', '/logout']) {
      const answer = await post(sent, {}, url);
      expect([answer.statusCode, answer.headers['location']]).toEqual([303, `${url}?client_id=desk`]);
    }
    const browser = await post('client_id=shop&post_logout_redirect_uri=https://shop.example/');
    expect([browser.statusCode, browser.headers['location']?.startsWith('/realms/harbour/logout?')]).toEqual([
      303,
      true,
    ]);
    expect(gateway.requests('endGrantSession')).toEqual([]);
  });
});
