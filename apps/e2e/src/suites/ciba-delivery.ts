import { createHash, createPublicKey, randomBytes, verify, type webcrypto } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startReceiver, type Received, type Receiver } from '@tessera/test-kit';
import { askCiba, decideCiba, poll, type DecisionWord } from '../harness/out-of-band.ts';
import { ordersAudience, people } from '../harness/declared-state.ts';
import { claimsOf, describeFailure, dialects, expectError, refresh, tokensOf } from '../harness/flows.ts';
import type { System } from '../harness/set-up.ts';

const bell = 'acme-bell';
const vault = 'acme-vault';
const scope = 'openid offline_access orders.read';
const claim = (name: string): string => `urn:openid:params:jwt:claim:${name}`;
const leftHash = (token: unknown): string =>
  createHash('sha256').update(String(token)).digest().subarray(0, 16).toString('base64url');

/** CIBA clients that are told of decisions: by ping (CIBA Core section 10.2) and by push (section 10.3). */
export function cibaDeliverySuite(system: () => System): void {
  describe('CIBA clients that are told', () => {
    let receiver: Receiver;
    beforeAll(async () => {
      receiver = await startReceiver();
      await system().apply({ notificationEndpoint: receiver.url });
    });
    afterAll(async () => {
      await system().apply({});
      await receiver.close();
    });

    /** A request of a client, and how bob decides it: the limit on what ada decides in a minute is used by other suites. */
    async function start(clientId: string) {
      const { http } = system();
      const notificationToken = randomBytes(20).toString('base64url');
      http.seen.add(notificationToken);
      const message = `Told ${randomBytes(3).toString('hex')}`;
      const answer = await askCiba(http, {
        client_id: clientId,
        scope,
        login_hint: people.bob.username,
        binding_message: message,
        client_notification_token: notificationToken,
      });
      expect(answer.status, describeFailure(answer)).toBe(200);
      const { auth_req_id: authReqId, interval } = answer.json();
      const mine = (one: Received): boolean => one.json()['auth_req_id'] === authReqId;
      return {
        authReqId: String(authReqId),
        interval,
        authorization: `Bearer ${notificationToken}`,
        async decide(decision: DecisionWord) {
          const page = await decideCiba(system().person(), decision, message, people.bob);
          expect(page.text).toContain(decision === 'approve' ? 'You approved' : 'You denied');
        },
        callback: () => receiver.got('the client is told', mine),
        callbacks: () => receiver.received.filter(mine),
      };
    }

    it.each(['approve', 'deny'] as const)(
      'are pinged with the auth_req_id alone and then ask, after they %s (CIBA Core section 10.2)',
      async (decision) => {
        const { http } = system();
        for (const dialect of dialects) {
          const { authReqId, interval, authorization, decide, callback, callbacks } = await start(bell);
          expect(interval).toBe(1);
          expectError(await poll(http, 'ciba', authReqId, bell, dialect), 400, 'authorization_pending');
          await decide(decision);
          const { headers, json } = await callback();
          expect(json()).toEqual({ auth_req_id: authReqId });
          expect(headers['authorization'] === authorization).toBe(true);
          expect(headers['content-type']).toBe('application/json');
          const answer = await poll(http, 'ciba', authReqId, bell, dialect);
          if (decision === 'deny') expectError(answer, 400, 'access_denied');
          else expect(claimsOf(tokensOf(answer).accessToken)).toMatchObject({ client_id: bell });
          expect(callbacks()).toHaveLength(1);
        }
      },
    );

    it('are pushed tokens whose ID token binds them together (CIBA Core section 10.3.1)', async () => {
      const { http, baseUrl } = system();
      const { authReqId, interval, authorization, decide, callback, callbacks } = await start(vault);
      expect(interval).toBeUndefined();
      await decide('approve');
      const { headers, json } = await callback();
      const pushed = json();
      for (const name of ['access_token', 'refresh_token', 'id_token']) http.seen.add(String(pushed[name]));
      expect(headers['authorization'] === authorization).toBe(true);
      expect(Object.keys(pushed).toSorted()).toEqual(
        [
          'access_token',
          'auth_req_id',
          'expires_in',
          'id_token',
          'refresh_token',
          'scope',
          'token_type',
        ].toSorted(),
      );
      expect(pushed).toMatchObject({ token_type: 'Bearer', expires_in: 600, scope });
      expect(claimsOf(String(pushed['access_token']))).toMatchObject({
        iss: baseUrl,
        aud: ordersAudience,
        client_id: vault,
      });
      expect(await isSigned(String(pushed['id_token']))).toBe(true);
      const claims = claimsOf(String(pushed['id_token']));
      expect(claims).toMatchObject({ iss: baseUrl, aud: vault });
      expect(claims['sub']).toBe(claimsOf(String(pushed['access_token']))['sub']);
      expect(claims['at_hash'] === leftHash(pushed['access_token'])).toBe(true);
      expect(claims[claim('rt_hash')] === leftHash(pushed['refresh_token'])).toBe(true);
      expect(claims[claim('auth_req_id')] === authReqId).toBe(true);
      tokensOf(await refresh(http, String(pushed['refresh_token']), vault));
      expect(callbacks()).toHaveLength(1);
    });

    it('are pushed a denial as an error (CIBA Core section 12)', async () => {
      const { authReqId, authorization, decide, callback } = await start(vault);
      await decide('deny');
      const { headers, json } = await callback();
      expect(json()).toMatchObject({ auth_req_id: authReqId, error: 'access_denied' });
      expect(json()).not.toHaveProperty('access_token');
      expect(headers['authorization'] === authorization).toBe(true);
    });

    it('may not ask for what is pushed, before and after the decision (CIBA Core section 11)', async () => {
      const { http } = system();
      const { authReqId, decide, callback } = await start(vault);
      for (const dialect of dialects) {
        expectError(await poll(http, 'ciba', authReqId, vault, dialect), 400, 'unauthorized_client');
        expectError(await poll(http, 'ciba', authReqId, bell, dialect), 400, 'invalid_grant');
      }
      await decide('approve');
      await callback();
      expectError(await poll(http, 'ciba', authReqId, vault), 400, 'unauthorized_client');
    });

    it('are told again while they are in trouble', async () => {
      for (const client of [bell, vault]) {
        const { decide, callback, callbacks } = await start(client);
        receiver.answer(500);
        await decide('approve');
        await callback();
        await receiver.got('the client is told again', () => callbacks().length === 2);
        const [first, second] = callbacks();
        expect(first?.body === second?.body).toBe(true);
      }
    });

    it.each([401, 307])('are not told again after status %d, and nowhere else (CIBA-4)', async (status) => {
      const refused = await start(bell);
      receiver.answer(status);
      await refused.decide('approve');
      await refused.callback();
      // Longer than the first pause before another attempt.
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      expect(refused.callbacks().map(({ path }) => path)).toEqual(['/told']);
    });

    it('lose the tokens they did not take, and hear of it (CIBA Core section 12)', async () => {
      const { http } = system();
      const { decide, callbacks } = await start(vault);
      receiver.answer(401);
      await decide('approve');
      await receiver.got('the client is told again', () => callbacks().length === 2);
      const [first, second] = callbacks();
      const refreshToken = String(first?.json()['refresh_token']);
      http.seen.add(refreshToken);
      expect(second?.json()).toMatchObject({ error: 'transaction_failed' });
      expectError(await refresh(http, refreshToken, vault), 400, 'invalid_grant');
    });

    it('must say what proves us to them (CIBA Core section 7.1)', async () => {
      const { http } = system();
      for (const client of [bell, vault]) {
        for (const token of ['', 'no bearer token', 'x'.repeat(1025)]) {
          const answer = await askCiba(http, { client_id: client, scope, client_notification_token: token });
          expectError(answer, 400, 'invalid_request');
        }
      }
      const form = { client_id: vault, scope, client_notification_token: 'x'.repeat(40) };
      expectError(await askCiba(http, { ...form, client_secret: 'wrong' }), 401, 'invalid_client');
    });

    async function isSigned(token: string): Promise<boolean> {
      const { keys } = (await system().http.ask('GET', '/.well-known/jwks.json')).json();
      const [header = '', payload = '', signature = ''] = token.split('.');
      const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string };
      const key = (keys as (webcrypto.JsonWebKey & { kid: string })[]).find((one) => one.kid === kid);
      if (key === undefined) return false;
      const publicKey = createPublicKey({ key, format: 'jwk' });
      const signed = Buffer.from(`${header}.${payload}`);
      return verify('sha256', signed, publicKey, Buffer.from(signature, 'base64url'));
    }
  });
}
