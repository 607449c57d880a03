import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { dialects } from '@tessera/test-client';
import { expectError, refresh } from '../../harness/flows.ts';
import { askCiba, poll } from '../../harness/out-of-band.ts';
import { notifiedClients } from '../../harness/notified-client.ts';
import type { System } from '../../harness/set-up.ts';

const pinged = 'acme-pinged';
const pushed = 'acme-pushed';
const identityScope = 'openid offline_access orders.read';

/** Ping and push: what clients may not do, and endpoints that fail. */
export function cibaDeliveryFailuresSuite(system: () => System): void {
  describe('CIBA clients whose notification endpoint fails', () => {
    const { receiver, start } = notifiedClients(system);

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
        receiver().answer(500);
        await decide('approve');
        await callback();
        await receiver().got('the client is notified again', () => callbacks().length === 2);
        const [first, second] = callbacks();
        expect(first?.body === second?.body).toBe(true);
      }
    });

    it('are not notified again after status 401 or 307, and redirects are not followed (CIBA-4)', async () => {
      const refused = [];
      for (const status of [401, 307]) {
        const client = await start(pinged);
        receiver().answer(status);
        await client.decide('approve');
        await client.callback();
        refused.push(client);
      }
      // Longer than the first pause before another attempt.
      await sleep(2_500);
      for (const { callbacks } of refused) expect(callbacks().map(({ path }) => path)).toEqual(['/notify']);
    });

    it('get transaction_failed and lose the tokens if they reject a push (CIBA Core section 12)', async () => {
      const { http } = system();
      const { decide, callbacks } = await start(pushed);
      receiver().answer(401);
      await decide('approve');
      await receiver().got('the client is notified again', () => callbacks().length === 2);
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
  });
}
