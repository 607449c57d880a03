import { setTimeout as sleep } from 'node:timers/promises';
import * as openid from 'openid-client';
import { describe, expect, it } from 'vitest';
import { claimsOf, decideDevice, dialects, openDevice, tokensOf } from '@tessera/test-client';
import { codeFor, expectError, redeem, refresh } from '../harness/flows.ts';
import { askDevice, poll, startDevice } from '../harness/out-of-band.ts';
import { ordersAudience } from '../harness/declared-state.ts';
import type { System } from '../harness/set-up.ts';

/** The device flow (RFC 8628) from start to tokens, in both dialects, with people on the pages. */
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

    it('slows a device down that polls too fast, and lets it recover (RFC 8628 section 3.5, DEV-9)', async () => {
      await Promise.all(
        dialects.map(async (dialect) => {
          const { deviceCode } = await startDevice(system().http);
          expectError(await pollTv(deviceCode, dialect), 400, 'authorization_pending');
          expectError(await pollTv(deviceCode, dialect), 400, 'slow_down');
          await sleep(6100);
          expectError(await pollTv(deviceCode, dialect), 400, 'authorization_pending');
        }),
      );
    });

    it('lets a patient device poll at its interval', async () => {
      const { deviceCode, interval } = await startDevice(system().http);
      for (let time = 0; time < 3; time += 1) {
        expectError(await pollTv(deviceCode), 400, 'authorization_pending');
        await sleep(interval * 1000);
      }
    });

    it('ends a request that nobody decides: expired_token, and its user code opens nothing', async () => {
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

    it.each(dialects)(
      "refuses another client's and unknown codes and consumes nothing (DEV-1), in the %s dialect",
      async (dialect) => {
        const { http } = system();
        const { deviceCode, userCode } = await startDevice(http);
        expectError(await poll(http, 'device', deviceCode, 'acme-box', dialect), 400, 'invalid_grant');
        await decideDevice(system().person(), userCode, 'approve');
        expectError(await poll(http, 'device', deviceCode, 'acme-box', dialect), 400, 'invalid_grant');
        const unknown = `${deviceCode.slice(0, -4)}AAAA`;
        expectError(await pollTv(unknown, dialect), 400, 'invalid_grant');
        expectError(await pollTv('nonsense', dialect), 400, 'invalid_grant');
        tokensOf(await pollTv(deviceCode, dialect));
      },
    );

    it.each(dialects)(
      'asks for the secret of a confidential client at every poll, in the %s dialect',
      async (dialect) => {
        const { http } = system();
        const { deviceCode, userCode } = await startDevice(http, { client_id: 'acme-box', scope: 'openid' });
        await decideDevice(system().person(), userCode, 'approve');
        for (const clientSecret of [undefined, 'not-the-secret-not-the-secret-not-the-secret']) {
          const answer = await poll(http, 'device', deviceCode, 'acme-box', dialect, { clientSecret });
          expectError(answer, 401, 'invalid_client');
        }
        tokensOf(await poll(http, 'device', deviceCode, 'acme-box', dialect));
      },
    );

    it('refuses at the start what the application may not have (DEV-4)', async () => {
      const { http } = system();
      expectError(
        await askDevice(http, { client_id: 'acme-web', scope: 'openid' }),
        400,
        'unauthorized_client',
      );
      expectError(await askDevice(http, { client_id: 'nobody' }), 401, 'invalid_client');
      const wrong = { client_id: 'acme-box', client_secret: 'not-the-secret-not-the-secret-not-the-secret' };
      expectError(await askDevice(http, { ...wrong, scope: 'openid' }), 401, 'invalid_client');
      expectError(await askDevice(http, { scope: 'openid orders.write' }), 400, 'invalid_scope');
      expectError(await askDevice(http, { scope: 'openid no.such' }), 400, 'invalid_scope');
      expectError(await askDevice(http, { resource: 'https://other.example' }), 400, 'invalid_target');
      for (const dialect of dialects) {
        const answer = await poll(http, 'device', 'td_x', 'acme-web', dialect);
        expectError(answer, 400, 'unauthorized_client');
        const missing = await poll(http, 'device', '', tv, dialect, { deviceCode: undefined });
        expectError(missing, 400, 'invalid_request');
      }
    });

    it('gives twenty parallel polls after the approval one token set (DEV-9)', async () => {
      const { http } = system();
      const person = system().person();
      for (let round = 0; round < 5; round += 1) {
        const { deviceCode, userCode } = await startDevice(http);
        await decideDevice(person, userCode, 'approve');
        const answers = await Promise.all(
          Array.from({ length: 20 }, async (_value, at) => pollTv(deviceCode, dialects[at % 2])),
        );
        const refused = answers.filter(({ status }) => status === 400);
        expect([answers.filter(({ status }) => status === 200).length, refused.length]).toEqual([1, 19]);
        for (const answer of refused) expectError(answer, 400, 'invalid_grant');
      }
    });

    it('is completed by openid-client, unmodified', async () => {
      const config = await openid.discovery(new URL(system().baseUrl), tv, undefined, openid.None(), {
        algorithm: 'oauth2',
        execute: [openid.allowInsecureRequests],
      });
      const started = await openid.initiateDeviceAuthorization(config, { scope: 'openid offline_access' });
      const [tokens] = await Promise.all([
        openid.pollDeviceAuthorizationGrant(config, started),
        decideDevice(system().person(), started.user_code, 'approve'),
      ]);
      expect(tokens.claims()?.aud).toBe(tv);
      expect((await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')).token_type).toBe('bearer');

      const denied = await openid.initiateDeviceAuthorization(config, { scope: 'openid' });
      await decideDevice(system().person(), denied.user_code, 'deny');
      await expect(openid.pollDeviceAuthorizationGrant(config, denied)).rejects.toMatchObject({
        error: 'access_denied',
      });
    });
  });
}
