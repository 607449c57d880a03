import { describe, expect, it } from 'vitest';
import { claimsOf, decideCiba, type Dialect, dialects, openApprovals, tokensOf } from '@tessera/test-client';
import { expectError } from '../../harness/flows.ts';
import { askCiba, poll, startCiba } from '../../harness/out-of-band.ts';
import { people } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';

/** Who may start the approval flow, and for whom. */
export function cibaStartsSuite(system: () => System): void {
  const desk = 'acme-desk';
  let messages = 0;
  /** A binding message that no other request has. */
  const newMessage = (): string => `start ${(messages += 1)}.`;
  const pollDesk = async (authReqId: string, dialect: Dialect = 'contract') =>
    poll(system().http, 'ciba', authReqId, desk, dialect);

  describe('the start of CIBA', () => {
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
  });
}
