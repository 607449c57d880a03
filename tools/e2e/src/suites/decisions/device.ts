import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { claimsOf, decideDevice, dialects, openDevice, tokensOf } from '@tessera/test-client';
import { codeFor, expectError, redeem, refresh } from '../../harness/flows.ts';
import { askDevice, poll, startDevice } from '../../harness/out-of-band.ts';
import { ordersAudience } from '../../harness/declared-state.ts';
import type { System } from '../../harness/set-up.ts';

/** The device flow from start to tokens. */
export function deviceSuite(system: () => System): void {
  const tv = 'acme-tv';
  const pollTv = async (deviceCode: string, dialect: (typeof dialects)[number] = 'contract') =>
    poll(system().http, 'device', deviceCode, tv, dialect);

  describe('device flow', () => {
    it('starts as RFC 8628 section 3.2 says', async () => {
      const answer = await askDevice(system().http);
      const body = answer.json();
      expect(answer.header('cache-control')).toBe('no-store');
      expect(String(body['user_code'])).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
      expect(String(body['device_code']).length).toBeGreaterThan(40);
      const { baseUrl } = system();
      expect(body).toMatchObject({
        verification_uri: `${baseUrl}/device`,
        verification_uri_complete: `${baseUrl}/device?user_code=${String(body['user_code'])}`,
        expires_in: 600,
        interval: 1,
      });
    });

    it.each(dialects)(
      'gives the tokens of the person who approves, once, in the %s dialect',
      async (dialect) => {
        const { http } = system();
        const { deviceCode, userCode } = await startDevice(http);
        expectError(await pollTv(deviceCode, dialect), 400, 'authorization_pending');
        const typed = userCode.replace('-', '').toLowerCase();
        const done = await decideDevice(system().person(), typed, 'approve');
        expect(done.text).toContain('Device connected');
        const tokens = tokensOf(await pollTv(deviceCode, dialect));
        expect(tokens.scope?.split(' ').toSorted()).toEqual([
          'offline_access',
          'openid',
          'orders.read',
          'profile',
        ]);
        const ada = tokensOf(await redeem(http, await codeFor(system().person())));
        // DEV-5: the tokens are about the user who approved.
        expect(claimsOf(tokens.accessToken)).toMatchObject({
          sub: claimsOf(ada.accessToken)['sub'],
          client_id: tv,
          aud: ordersAudience,
          tenant_id: 'acme',
        });
        expect(claimsOf(tokens.idToken)).toMatchObject({ aud: tv });
        expect(claimsOf(tokens.idToken)['auth_time']).toBeTypeOf('number');
        expectError(await pollTv(deviceCode, dialect), 400, 'invalid_grant');
        tokensOf(await refresh(http, tokens.refreshToken, tv, dialect));
      },
    );

    it.each(dialects)('tells the device that the person denied, in the %s dialect', async (dialect) => {
      const { deviceCode, userCode } = await startDevice(system().http);
      const done = await decideDevice(system().person(), userCode, 'deny');
      expect(done.text).toContain('Access denied');
      expectError(await pollTv(deviceCode, dialect), 400, 'access_denied');
      expectError(await pollTv(deviceCode, dialect), 400, 'access_denied');
    });

    it('lets a patient device poll at its interval', async () => {
      const { deviceCode, interval } = await startDevice(system().http);
      for (let time = 0; time < 3; time += 1) {
        expectError(await pollTv(deviceCode), 400, 'authorization_pending');
        await sleep(interval * 1000);
      }
    });

    it('ends an undecided request: expired_token, and its user code opens nothing', async () => {
      const { http } = system();
      const { deviceCode, userCode } = await startDevice(http, {
        client_id: 'acme-tv-brief',
        scope: 'openid',
      });
      await sleep(1100);
      for (const dialect of dialects) {
        const answer = await poll(http, 'device', deviceCode, 'acme-tv-brief', dialect);
        expectError(answer, 400, 'expired_token');
      }
      const page = await openDevice(system().person(), userCode);
      expect(page.status).toBe(400);
      expect(page.text).toContain('not valid or has expired');
    });
  });
}
