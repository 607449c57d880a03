import { setTimeout as sleep } from 'node:timers/promises';
import * as openid from 'openid-client';
import { describe, expect, it } from 'vitest';
import {
  claimsOf,
  decideCiba,
  type Dialect,
  dialects,
  openApprovals,
  requestIds,
  tokensOf,
} from '@tessera/test-client';
import { codeFor, expectError, redeem, refresh } from '../harness/flows.ts';
import { askCiba, poll, startCiba } from '../harness/out-of-band.ts';
import { ordersAudience, people, secrets } from '../harness/declared-state.ts';
import type { System } from '../harness/set-up.ts';

/** CIBA (OpenID Connect Client-Initiated Backchannel Authentication Core 1.0) with approval on the page, tokens by poll. */
export function cibaSuite(system: () => System): void {
  const desk = 'acme-desk';
  let messages = 0;
  /** A binding message that no other request has. */
  const newMessage = (): string => `order ${(messages += 1)}.`;
  const pollDesk = async (authReqId: string, dialect: Dialect = 'contract') =>
    poll(system().http, 'ciba', authReqId, desk, dialect);

  describe('CIBA', () => {
    it.each(dialects)('gives no ID token without openid, in the %s dialect', async (dialect) => {
      const message = newMessage();
      const authReqId = await startCiba(system().http, { scope: 'orders.read', binding_message: message });
      await decideCiba(system().person(), 'approve', message);
      const tokens = tokensOf(await pollDesk(authReqId, dialect));
      expect([tokens.scope, tokens.idToken]).toEqual(['orders.read', undefined]);
      expect(claimsOf(tokens.accessToken)).toMatchObject({ aud: ordersAudience, scope: ['orders.read'] });
    });

    it('starts as CIBA Core section 7.3 says', async () => {
      const answer = await askCiba(system().http, { requested_expiry: '60', acr_values: '1' });
      expect(answer.json()).toEqual({
        auth_req_id: expect.stringMatching(/^.{43,}$/),
        expires_in: 60,
        interval: 1,
      });
      expect(answer.header('cache-control')).toBe('no-store');
      await decideCiba(system().person(), 'deny');
    });

    it.each(dialects)(
      'gives the tokens of the person who approves, once, in the %s dialect',
      async (dialect) => {
        const { http } = system();
        const message = newMessage();
        const authReqId = await startCiba(http, { binding_message: message });
        expectError(await pollDesk(authReqId, dialect), 400, 'authorization_pending');
        const person = system().person();
        const page = await openApprovals(person);
        for (const text of [message, 'Acme Service Desk', 'orders.read', '127.0.0.1']) {
          expect(page.text).toContain(text);
        }
        const done = await decideCiba(person, 'approve', message);
        expect(done.text).toContain('You approved the request.');
        expect(requestIds(done, message)).toEqual([]);
        const tokens = tokensOf(await pollDesk(authReqId, dialect));
        const ada = tokensOf(await redeem(http, await codeFor(system().person())));
        expect(claimsOf(tokens.accessToken)).toMatchObject({
          sub: claimsOf(ada.accessToken)['sub'],
          client_id: desk,
          aud: ordersAudience,
        });
        expect(claimsOf(tokens.idToken)).toMatchObject({ aud: desk });
        expectError(await pollDesk(authReqId, dialect), 400, 'invalid_grant');
        tokensOf(await refresh(http, tokens.refreshToken, desk, dialect));
      },
    );

    it.each(dialects)('tells the client that the person denied, in the %s dialect', async (dialect) => {
      const message = newMessage();
      const authReqId = await startCiba(system().http, { binding_message: message });
      expect((await decideCiba(system().person(), 'deny', message)).text).toContain('You denied');
      expectError(await pollDesk(authReqId, dialect), 400, 'access_denied');
      expectError(await pollDesk(authReqId, dialect), 400, 'access_denied');
    });

    it('does not show the binding message of a start that carries only the client identifier', async () => {
      const message = newMessage();
      const form = { client_id: desk, scope: 'openid', login_hint: people.bob.username };
      const started = await system().http.ask('POST', '/backchannel_authentication', {
        form: { ...form, binding_message: message },
      });
      expect(started.status).toBe(200);
      const person = system().person();
      const page = await openApprovals(person, people.bob);
      expect(page.text).toContain('Acme Service Desk');
      expect(page.text).not.toContain(message);
      expect((await decideCiba(person, 'deny')).text).toContain('You denied');
    });

    it('slows a client down that polls too fast, and lets it recover (CIBA Core section 7.3)', async () => {
      await Promise.all(
        dialects.map(async (dialect) => {
          const authReqId = await startCiba(system().http, { requested_expiry: '20' });
          expectError(await pollDesk(authReqId, dialect), 400, 'authorization_pending');
          expectError(await pollDesk(authReqId, dialect), 400, 'slow_down');
          await sleep(6100);
          expectError(await pollDesk(authReqId, dialect), 400, 'authorization_pending');
        }),
      );
      await decideCiba(system().person(), 'deny');
      await decideCiba(system().person(), 'deny');
    });

    it('ends a request that nobody decides: expired_token, and nothing waits', async () => {
      const message = newMessage();
      const authReqId = await startCiba(system().http, { requested_expiry: '1', binding_message: message });
      await sleep(1100);
      for (const dialect of dialects) expectError(await pollDesk(authReqId, dialect), 400, 'expired_token');
      expect(requestIds(await openApprovals(system().person()), message)).toEqual([]);
    });

    it.each([people.ada.email, '+46701234567', people.ada.username.toUpperCase()])(
      'finds the person by the hint %s',
      async (hint) => {
        const message = newMessage();
        await startCiba(system().http, { login_hint: hint, binding_message: message });
        await decideCiba(system().person(), 'deny', message);
      },
    );

    it.each(dialects)(
      "refuses another client's and unknown ids and consumes nothing (CIBA-6), in the %s dialect",
      async (dialect) => {
        const { http } = system();
        const message = newMessage();
        const authReqId = await startCiba(http, { binding_message: message });
        await decideCiba(system().person(), 'approve', message);
        expectError(await poll(http, 'ciba', authReqId, 'acme-till', dialect), 400, 'invalid_grant');
        expectError(await pollDesk(`${authReqId.slice(0, -4)}AAAA`, dialect), 400, 'invalid_grant');
        expectError(await pollDesk('nonsense', dialect), 400, 'invalid_grant');
        const noSecret = await poll(http, 'ciba', authReqId, desk, dialect, { clientSecret: undefined });
        expectError(noSecret, 401, 'invalid_client');
        tokensOf(await pollDesk(authReqId, dialect));
      },
    );

    it('serves a public client by its identifier, in the contract profile', async () => {
      const { http } = system();
      const kiosk = 'acme-kiosk';
      const authReqId = await startCiba(http, { client_id: kiosk, scope: 'openid' });
      await decideCiba(system().person(), 'approve', 'Acme Kiosk');
      const tokens = tokensOf(await poll(http, 'ciba', authReqId, kiosk));
      expect(claimsOf(tokens.idToken)).toMatchObject({ aud: kiosk });
    });

    it('refuses an empty password of a confidential client: what is sent must be right', async () => {
      const authorization = `Basic ${Buffer.from(`${desk}:`).toString('base64')}`;
      const form = { scope: 'openid', login_hint: people.ada.username };
      for (const path of ['/backchannel_authentication', '/device_authorization']) {
        const answer = await system().http.ask('POST', path, { form, headers: { authorization } });
        expectError(answer, 401, 'invalid_client');
      }
    });

    it('refuses at the start what the client may not have, per CIBA Core section 13', async () => {
      const { http } = system();
      for (const client of ['acme-web', 'acme-mute']) {
        const answer = await askCiba(http, { client_id: client, scope: 'openid' });
        expectError(answer, 400, 'unauthorized_client');
      }
      expectError(await askCiba(http, { client_id: 'nobody' }), 401, 'invalid_client');
      const wrong = { client_secret: 'not-the-secret-not-the-secret-not-the-secret' };
      expectError(await askCiba(http, wrong), 401, 'invalid_client');
      expectError(await askCiba(http, { scope: 'openid orders.write' }), 400, 'invalid_scope');
      expectError(await askCiba(http, { login_hint: '' }), 400, 'invalid_request');
      expectError(await askCiba(http, { id_token_hint: 'x' }), 400, 'invalid_request');
      expectError(await askCiba(http, { login_hint_token: 'x' }), 400, 'invalid_request');
      expectError(await askCiba(http, { requested_expiry: '0' }), 400, 'invalid_request');
      for (const message of ['a\u0007b', 'x'.repeat(65), 'a\u202eb']) {
        expectError(await askCiba(http, { binding_message: message }), 400, 'invalid_binding_message');
      }
      for (const dialect of dialects) {
        expectError(await poll(http, 'ciba', 'ta_x', 'acme-web', dialect), 400, 'unauthorized_client');
        expectError(await poll(http, 'ciba', 'ta_x', 'acme-tv', dialect), 400, 'unauthorized_client');
        const missing = await poll(http, 'ciba', '', desk, dialect, { authReqId: undefined });
        expectError(missing, 400, 'invalid_request');
      }
    });

    it('answers alike for people who exist and who do not, and shows a locked person nothing (CIBA-1)', async () => {
      const { http } = system();
      await system().apply({ bobStatus: 'locked' });
      const message = newMessage();
      const answers = [];
      const started: string[] = [];
      try {
        for (const hint of [
          'nobody-of-that-name',
          people.bob.username,
          people.eve.username,
          people.ada.username,
        ]) {
          const answer = await askCiba(http, { login_hint: hint, binding_message: message });
          const { auth_req_id: id, ...rest } = answer.json();
          answers.push([answer.status, rest, String(id).length]);
          started.push(String(id));
        }
        expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
        for (const id of started) expectError(await pollDesk(id), 400, 'authorization_pending');
      } finally {
        await system().apply({});
      }
      const bobs = await openApprovals(system().person(), people.bob);
      expect(bobs.text).toContain('Nothing is waiting for you.');
      await decideCiba(system().person(), 'deny', message);
    });

    it('gives twenty parallel polls after the approval one token set', async () => {
      const person = system().person();
      for (let round = 0; round < 5; round += 1) {
        const message = newMessage();
        const authReqId = await startCiba(system().http, { binding_message: message });
        await decideCiba(person, 'approve', message);
        const answers = await Promise.all(
          Array.from({ length: 20 }, async (_value, at) => pollDesk(authReqId, dialects[at % 2])),
        );
        const refused = answers.filter(({ status }) => status === 400);
        expect([answers.filter(({ status }) => status === 200).length, refused.length]).toEqual([1, 19]);
        for (const answer of refused) expectError(answer, 400, 'invalid_grant');
      }
    });

    it('is completed by openid-client, unmodified', async () => {
      const config = await openid.discovery(
        new URL(system().baseUrl),
        desk,
        undefined,
        openid.ClientSecretBasic(secrets.desk),
        { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
      );
      const start = async (message: string) =>
        openid.initiateBackchannelAuthentication(config, {
          scope: 'openid offline_access',
          login_hint: people.ada.username,
          binding_message: message,
        });
      const approving = newMessage();
      const started = await start(approving);
      const [tokens] = await Promise.all([
        openid.pollBackchannelAuthenticationGrant(config, started),
        decideCiba(system().person(), 'approve', approving),
      ]);
      expect(tokens.claims()?.aud).toBe(desk);
      const denying = newMessage();
      const denied = await start(denying);
      await decideCiba(system().person(), 'deny', denying);
      await expect(openid.pollBackchannelAuthenticationGrant(config, denied)).rejects.toMatchObject({
        error: 'access_denied',
      });
    });
  });
}
