import { createHash } from 'node:crypto';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { claimsOf, dialects, tokensOf } from '@tessera/test-client';
import { expectError, refresh } from '../../harness/flows.ts';
import { poll } from '../../harness/out-of-band.ts';
import { ordersAudience } from '../../harness/declared-state.ts';
import { notifiedClients } from '../../harness/notified-client.ts';
import type { System } from '../../harness/set-up.ts';

const pinged = 'acme-pinged';
const pushed = 'acme-pushed';
const identityScope = 'openid offline_access orders.read';
const claim = (name: string): string => `urn:openid:params:jwt:claim:${name}`;
const leftHash = (token: unknown): string =>
  createHash('sha256').update(String(token)).digest().subarray(0, 16).toString('base64url');

/** Ping and push: tokens and refusals reach the client. */
export function cibaDeliverySuite(system: () => System): void {
  describe('CIBA clients with a notification endpoint', () => {
    const { start } = notifiedClients(system);

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
      const keys = createRemoteJWKSet(new URL(`${baseUrl}/.well-known/jwks.json`));
      await jwtVerify(String(body['id_token']), keys, { algorithms: ['RS256'] });
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
  });
}
