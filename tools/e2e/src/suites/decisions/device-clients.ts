import * as openid from 'openid-client';
import { describe, expect, it } from 'vitest';
import { decideDevice, dialects, tokensOf } from '@tessera/test-client';
import { expectError } from '../../harness/flows.ts';
import { askDevice, poll, startDevice } from '../../harness/out-of-band.ts';
import type { System } from '../../harness/set-up.ts';

/** What clients of the device flow may do. */
export function deviceClientsSuite(system: () => System): void {
  const tv = 'acme-tv';
  const pollTv = async (deviceCode: string, dialect: (typeof dialects)[number] = 'contract') =>
    poll(system().http, 'device', deviceCode, tv, dialect);

  describe('clients of the device flow', () => {
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
