import { describe, expect, it } from 'vitest';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { ClientAuthenticationMethod } from '@tessera/proto-gen/token';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const open = (revoke: NonNullable<Behaviours['revoke']> = () => ({})) =>
  openGateway(testRuntime(), { revoke });
type Gateway = ReturnType<typeof open>;

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const remove = (gateway: Gateway, payload: string, headers: Record<string, string> = json) =>
  gateway.app.inject({ method: 'DELETE', url: '/revoke', headers, payload });

describe('DELETE /revoke', () => {
  it('answers with the message of the contract, without an envelope', async () => {
    const gateway = open();
    const answer = await remove(
      gateway,
      '{"token":"tr_x","reasonRevoked":"lost phone","ipAddress":"1.1.1.1"}',
    );
    expect([answer.statusCode, answer.json()]).toEqual([200, { message: 'Refresh token revoked.' }]);
    expect(gateway.requests('revoke')[0]).toMatchObject({
      token: 'tr_x',
      reason: 'lost phone',
      ignoreUnknown: false,
      caller: { ipAddress: '127.0.0.1', issuer: 'http://localhost' },
    });
    expect(gateway.requests('revoke')[0]?.credentials).toBeUndefined();
  });

  it('forwards a reason with any characters except those a store cannot hold (contract)', async () => {
    const gateway = open();
    const answer = await remove(gateway, '{"token":"tr_x","reasonRevoked":"a\\u0000b\\ud800\\nc"}');
    expect(answer.statusCode).toBe(200);
    expect(gateway.requests('revoke')[0]).toMatchObject({ token: 'tr_x', reason: 'a b\ufffd\nc' });
    expect((await remove(gateway, '{"token":"tr_x\\u0000"}')).statusCode).toBe(400);
    expect((await remove(gateway, '{"token":"tr_x","reasonRevoked":1}')).statusCode).toBe(400);
  });

  it.each(['', '{}', '{"token":""}', '{"reasonRevoked":"x"}', '{"token":1}', '[]'])(
    'answers 400 to the body %j and never says that something was revoked',
    async (payload) => {
      const gateway = open();
      const answer = await remove(gateway, payload);
      expect([answer.statusCode, answer.json()]).toMatchObject([
        400,
        { isSuccess: false, error: 'invalid_request' },
      ]);
      expect(gateway.requests('revoke')).toEqual([]);
    },
  );

  it('answers 400 if body and content type are missing', async () => {
    const answer = await open().app.inject({ method: 'DELETE', url: '/revoke' });
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { error: 'invalid_request' }]);
  });

  it('answers 400 for an unknown token and 503 for an unavailable service', async () => {
    const unknown = await remove(
      open(() => {
        throw new OAuthError('invalid_request', 'The token is not one of ours.');
      }),
      '{"token":"x"}',
    );
    expect([unknown.statusCode, unknown.json()]).toMatchObject([
      400,
      { isSuccess: false, error: 'invalid_request' },
    ]);
    const trouble = await remove(
      open(() => {
        throw temporarilyUnavailable();
      }),
      '{"token":"x"}',
    );
    expect([trouble.statusCode, trouble.headers['retry-after']]).toEqual([503, '1']);
  });

  it('answers 405 with the allowed method to a form', async () => {
    const answer = await remove(open(), 'token=x', form);
    expect([answer.statusCode, answer.headers['allow']]).toEqual([405, 'POST']);
    expect(answer.json()).toMatchObject({ error: 'invalid_request' });
  });
});

describe('POST /revoke (RFC 7009)', () => {
  const post = (gateway: Gateway, payload: string, headers: Record<string, string> = {}) =>
    gateway.app.inject({ method: 'POST', url: '/revoke', headers: { ...form, ...headers }, payload });

  it('forwards token and client, and answers 200 (RFC 7009 §2.2)', async () => {
    const gateway = open();
    const answer = await post(
      gateway,
      'token=tr_x&client_id=web&client_secret=s&token_type_hint=refresh_token',
    );
    expect(answer.statusCode).toBe(200);
    expect(gateway.requests('revoke')[0]).toMatchObject({
      token: 'tr_x',
      ignoreUnknown: true,
      credentials: {
        clientId: 'web',
        clientSecret: 's',
        method: ClientAuthenticationMethod.CLIENT_SECRET_POST,
      },
    });
  });

  it('accepts a public client by its identifier (RFC 7009 §2.1)', async () => {
    const gateway = open();
    await post(gateway, 'token=tr_x&client_id=spa');
    expect(gateway.requests('revoke')[0]?.credentials?.method).toBe(ClientAuthenticationMethod.NONE);
  });

  it('requires a client even from a trusted address', async () => {
    const answer = await post(open(), 'token=tr_x');
    expect([answer.statusCode, answer.json<{ error: string }>().error]).toEqual([401, 'invalid_client']);
  });

  it('answers 400 if the token is missing', async () => {
    const answer = await post(open(), 'client_id=web&client_secret=s');
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'The token is missing.' },
    ]);
  });

  it('answers 405 with the allowed method to JSON', async () => {
    const gateway = open();
    const answer = await post(gateway, '{"token":"x"}', json);
    expect([answer.statusCode, answer.headers['allow']]).toEqual([405, 'DELETE']);
    expect(answer.json()).toMatchObject({ isSuccess: false, error: 'invalid_request' });
    expect(gateway.requests('revoke')).toEqual([]);
  });

  it.each(['GET', 'PUT', 'PATCH'] as const)('answers 405 with both methods to %s', async (method) => {
    const answer = await open().app.inject({ method, url: '/revoke' });
    expect([answer.statusCode, answer.headers['allow']]).toEqual([405, 'DELETE, OPTIONS, POST']);
  });
});
