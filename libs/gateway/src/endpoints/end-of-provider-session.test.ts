import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { Code, ConnectError } from '@tessera/rpc';
import { testRuntime } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const url = '/login/provider/acme/corp/backchannel-logout';
const open = (endProviderSessions: NonNullable<Behaviours['endProviderSessions']>) =>
  openGateway(testRuntime(), { endProviderSessions, noteSessionEnd: () => ({}) });
const post = (
  gateway: ReturnType<typeof open>,
  payload: string,
  type = 'application/x-www-form-urlencoded',
) => gateway.app.inject({ method: 'POST', url, headers: { 'content-type': type }, payload });

describe('a logout token of a provider (OIDC Back-Channel Logout §2.5)', () => {
  it('goes to authorize, and token hears of every session that it ended before the answer', async () => {
    const ended = { tenantId: 'acme', sessionId: 's1', earlierSessionIds: ['s0'] };
    const gateway = open(() => ({ sessions: [ended] }));
    const answer = await post(gateway, 'logout_token=a.b.c&other=1');
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(gateway.requests('endProviderSessions')).toMatchObject([
      {
        issuer: 'http://localhost',
        issuerTenantId: '',
        tenantId: 'acme',
        provider: 'corp',
        logoutToken: 'a.b.c',
        ipAddress: '127.0.0.1',
      },
    ]);
    expect(gateway.requests('noteSessionEnd')).toMatchObject([
      { tenantId: 'acme', sessionId: 's1' },
      { tenantId: 'acme', sessionId: 's0' },
    ]);
  });

  it('that is not accepted gets 400, and one that cannot be judged now 503 (§2.8)', async () => {
    const refused = await post(
      open(() => ({ refused: true })),
      'logout_token=x',
    );
    expect([refused.statusCode, refused.json()]).toMatchObject([400, { error: 'invalid_request' }]);
    const later = open(() => {
      throw temporarilyUnavailable(new Error('no keys'));
    });
    expect((await post(later, 'logout_token=x')).statusCode).toBe(503);
    const earlier = open(() => {
      throw new ConnectError('no such method', Code.Unimplemented);
    });
    expect((await post(earlier, 'logout_token=x')).statusCode, 'authorize of another version').toBe(503);
  });

  it('is one, in a form that is posted', async () => {
    const gateway = open(() => {
      throw new OAuthError('server_error', 'not asked');
    });
    for (const payload of ['', 'logout_token=', 'logout_token=a&logout_token=b'])
      expect((await post(gateway, payload)).statusCode).toBe(400);
    expect((await post(gateway, '{"logoutToken":"x"}', 'application/json')).statusCode).toBe(415);
    expect((await gateway.app.inject({ method: 'GET', url })).statusCode).toBe(405);
    expect(gateway.requests('endProviderSessions')).toEqual([]);
  });
});
