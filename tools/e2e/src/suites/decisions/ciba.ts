import { setTimeout as sleep } from 'node:timers/promises';
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
import { codeFor, expectError, redeem, refresh } from '../../harness/flows.ts';
import { askCiba, poll, startCiba } from '../../harness/out-of-band.ts';
import { ordersAudience, people } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';

/** The approval flow from start to tokens. */
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

    it('ends an undecided request: expired_token, and nothing waits', async () => {
      const message = newMessage();
      const authReqId = await startCiba(system().http, { requested_expiry: '1', binding_message: message });
      await sleep(1100);
      for (const dialect of dialects) expectError(await pollDesk(authReqId, dialect), 400, 'expired_token');
      expect(requestIds(await openApprovals(system().person()), message)).toEqual([]);
    });
  });
}
