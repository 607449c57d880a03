import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { expectError } from '../../harness/flows.ts';
import { askCiba } from '../../harness/out-of-band.ts';
import { notifiedClients } from '../../harness/notified-client.ts';
import type { System } from '../../harness/set-up.ts';

/** Ping: endpoints that fail, and what clients must send. */
export function cibaDeliveryFailuresSuite(system: () => System): void {
  describe('CIBA clients whose notification endpoint fails', () => {
    const { receiver, start } = notifiedClients(system);

    it('are notified again after a 500', async () => {
      const { decide, callback, callbacks } = await start();
      receiver().answer(500);
      await decide('approve');
      await callback();
      await receiver().got('the client is notified again', () => callbacks().length === 2);
      const [first, second] = callbacks();
      expect(first?.body === second?.body).toBe(true);
    });

    it('are not notified again after status 401 or 307, and redirects are not followed (CIBA-4)', async () => {
      const refused = [];
      for (const status of [401, 307]) {
        const client = await start();
        receiver().answer(status);
        await client.decide('approve');
        await client.callback();
        refused.push(client);
      }
      // Longer than the first pause before another attempt.
      await sleep(2_500);
      for (const { callbacks } of refused) expect(callbacks().map(({ path }) => path)).toEqual(['/notify']);
    });

    it('must send a valid client_notification_token (CIBA Core section 7.1)', async () => {
      const { http } = system();
      const form = { client_id: 'acme-pinged', scope: 'openid offline_access orders.read' };
      for (const token of ['', 'no bearer token', 'x'.repeat(1025)]) {
        expectError(
          await askCiba(http, { ...form, client_notification_token: token }),
          400,
          'invalid_request',
        );
      }
      const wrong = { client_notification_token: 'x'.repeat(40), client_secret: 'wrong' };
      expectError(await askCiba(http, { ...form, ...wrong }), 401, 'invalid_client');
    });
  });
}
