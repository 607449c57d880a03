import { createHash, createPublicKey, randomBytes, verify, type webcrypto } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startReceiver, type Received, type Receiver } from '@tessera/test-kit';
import {
  claimsOf,
  decideCiba,
  type DecisionWord,
  describeFailure,
  dialects,
  tokensOf,
} from '@tessera/test-client';
import { expectError, refresh } from '../harness/flows.ts';
import { askCiba, poll } from '../harness/out-of-band.ts';
import { ordersAudience, people } from '../harness/declared-state.ts';
import type { System } from '../harness/set-up.ts';

const pinged = 'acme-pinged';
const pushed = 'acme-pushed';
const identityScope = 'openid offline_access orders.read';
const claim = (name: string): string => `urn:openid:params:jwt:claim:${name}`;
const leftHash = (token: unknown): string =>
  createHash('sha256').update(String(token)).digest().subarray(0, 16).toString('base64url');

/** CIBA clients notified of decisions by ping (CIBA Core section 10.2) and by push (section 10.3). */
export function cibaDeliverySuite(system: () => System): void {
  describe('CIBA clients with a notification endpoint', () => {
    let receiver: Receiver;
    beforeAll(async () => {
      receiver = await startReceiver();
      await system().apply({ notificationEndpoint: receiver.url });
    });
    afterAll(async () => {
      await system().apply({});
      await receiver.close();
    });

    /** Starts a request that bob decides: other suites use up the limit on ada's decisions per minute. */
    async function start(clientId: string, scope = identityScope) {
      const { http } = system();
      const notificationToken = randomBytes(20).toString('base64url');
      http.seen.add(notificationToken);
      const message = `Order ${randomBytes(3).toString('hex')}`;
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
        callback: () => receiver.got('the client is notified', mine),
        callbacks: () => receiver.received.filter(mine),
      };
    }

    it.each(['approve', 'deny'] as const)(
      'receive a ping with the auth_req_id alone and then poll, after the user chose to %s (CIBA Core section 10.2)',
      async (decision) => {
        const { http } = system();
        for (const dialect of dialects) {
          const { authReqId, interval, authorization, decide, callback, callbacks } = await start(pinged);
          expect(interval).toBe(1);
          expectError(await poll(http, 'ciba', authReqId, pinged, dialect), 400, 'authorization_pending');
          await decide(decision);
          const { headers, json } = await callback();
          expect(json()).toEqual({ auth_req_id: authReqId });
          expect(headers['authorization'] === authorization).toBe(true);
          expect(headers['content-type']).toBe('application/json');
          const answer = await poll(http, 'ciba', authReqId, pinged, dialect);
          if (decision === 'deny') expectError(answer, 400, 'access_denied');
          else expect(claimsOf(tokensOf(answer).accessToken)).toMatchObject({ client_id: pinged });
          expect(callbacks()).toHaveLength(1);
        }
      },
    );

    it('receive pushed tokens that the ID token binds together (CIBA Core section 10.3.1)', async () => {
      const { http, baseUrl } = system();
      const { authReqId, interval, authorization, decide, callback, callbacks } = await start(pushed);
      expect(interval).toBeUndefined();
      await decide('approve');
      const { headers, json } = await callback();
      const body = json();
      for (const name of ['access_token', 'refresh_token', 'id_token']) http.seen.add(String(body[name]));
      expect(headers['authorization'] === authorization).toBe(true);
      expect(Object.keys(body).toSorted()).toEqual(
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
      expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 600, scope: identityScope });
      expect(claimsOf(String(body['access_token']))).toMatchObject({
        iss: baseUrl,
        aud: ordersAudience,
        client_id: pushed,
      });
      expect(await isSigned(String(body['id_token']))).toBe(true);
      const claims = claimsOf(String(body['id_token']));
      expect(claims).toMatchObject({ iss: baseUrl, aud: pushed });
      expect(claims['sub']).toBe(claimsOf(String(body['access_token']))['sub']);
      expect(claims['at_hash'] === leftHash(body['access_token'])).toBe(true);
      expect(claims[claim('rt_hash')] === leftHash(body['refresh_token'])).toBe(true);
      expect(claims[claim('auth_req_id')] === authReqId).toBe(true);
      tokensOf(await refresh(http, String(body['refresh_token']), pushed));
      expect(callbacks()).toHaveLength(1);
    });

    it('receive no ID token without openid, by ping and by push', async () => {
      const { http } = system();
      const scope = 'orders.read';
      const ping = await start(pinged, scope);
      await ping.decide('approve');
      await ping.callback();
      const polled = tokensOf(await poll(http, 'ciba', ping.authReqId, pinged));
      expect([polled.scope, polled.idToken]).toEqual([scope, undefined]);
      const push = await start(pushed, scope);
      await push.decide('approve');
      const body = (await push.callback()).json();
      http.seen.add(String(body['access_token']));
      expect(Object.keys(body).toSorted()).toEqual([
        'access_token',
        'auth_req_id',
        'expires_in',
        'scope',
        'token_type',
      ]);
    });

    it('receive an error by push when the user denies access (CIBA Core section 12)', async () => {
      const { authReqId, authorization, decide, callback } = await start(pushed);
      await decide('deny');
      const { headers, json } = await callback();
      expect(json()).toMatchObject({ auth_req_id: authReqId, error: 'access_denied' });
      expect(json()).not.toHaveProperty('access_token');
      expect(headers['authorization'] === authorization).toBe(true);
    });

    it('cannot poll in push mode, before or after the decision (CIBA Core section 11)', async () => {
      const { http } = system();
      const { authReqId, decide, callback } = await start(pushed);
      for (const dialect of dialects) {
        expectError(await poll(http, 'ciba', authReqId, pushed, dialect), 400, 'unauthorized_client');
        expectError(await poll(http, 'ciba', authReqId, pinged, dialect), 400, 'invalid_grant');
      }
      await decide('approve');
      await callback();
      expectError(await poll(http, 'ciba', authReqId, pushed), 400, 'unauthorized_client');
    });

    it('are notified again after a 500', async () => {
      for (const client of [pinged, pushed]) {
        const { decide, callback, callbacks } = await start(client);
        receiver.answer(500);
        await decide('approve');
        await callback();
        await receiver.got('the client is notified again', () => callbacks().length === 2);
        const [first, second] = callbacks();
        expect(first?.body === second?.body).toBe(true);
      }
    });

    it.each([401, 307])(
      'are not notified again after status %d, and redirects are not followed (CIBA-4)',
      async (status) => {
        const refused = await start(pinged);
        receiver.answer(status);
        await refused.decide('approve');
        await refused.callback();
        // Longer than the first pause before another attempt.
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        expect(refused.callbacks().map(({ path }) => path)).toEqual(['/notify']);
      },
    );

    it('get transaction_failed and lose the tokens if they reject a push (CIBA Core section 12)', async () => {
      const { http } = system();
      const { decide, callbacks } = await start(pushed);
      receiver.answer(401);
      await decide('approve');
      await receiver.got('the client is notified again', () => callbacks().length === 2);
      const [first, second] = callbacks();
      const refreshToken = String(first?.json()['refresh_token']);
      http.seen.add(refreshToken);
      expect(second?.json()).toMatchObject({ error: 'transaction_failed' });
      expectError(await refresh(http, refreshToken, pushed), 400, 'invalid_grant');
    });

    it('must send a valid client_notification_token (CIBA Core section 7.1)', async () => {
      const { http } = system();
      for (const client of [pinged, pushed]) {
        for (const token of ['', 'no bearer token', 'x'.repeat(1025)]) {
          const answer = await askCiba(http, {
            client_id: client,
            scope: identityScope,
            client_notification_token: token,
          });
          expectError(answer, 400, 'invalid_request');
        }
      }
      const form = { client_id: pushed, scope: identityScope, client_notification_token: 'x'.repeat(40) };
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
