import { describe, expect, it } from 'vitest';
import { claimsOf, dialects, tokensOf } from '@tessera/test-client';
import { expectError } from '../../harness/flows.ts';
import { poll } from '../../harness/out-of-band.ts';
import { notifiedClients } from '../../harness/notified-client.ts';
import type { System } from '../../harness/set-up.ts';

const pinged = 'acme-pinged';

/** Ping: clients learn of decisions. */
export function cibaDeliverySuite(system: () => System): void {
  describe('CIBA clients with a notification endpoint', () => {
    const { start } = notifiedClients(system);

    it.each(['approve', 'deny'] as const)(
      'receive a ping with the auth_req_id alone and then poll, after the user chose to %s (CIBA Core section 10.2)',
      async (decision) => {
        const { http } = system();
        for (const dialect of dialects) {
          const { authReqId, interval, authorization, decide, callback, callbacks } = await start();
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

    it('receive no ID token without openid', async () => {
      const { http } = system();
      const scope = 'orders.read';
      const { authReqId, decide, callback } = await start(scope);
      await decide('approve');
      await callback();
      const polled = tokensOf(await poll(http, 'ciba', authReqId, pinged));
      expect([polled.scope, polled.idToken]).toEqual([scope, undefined]);
    });
  });
}
