import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { decideCiba, decideDevice, dialects, introspect, postToken, tokensOf } from '@tessera/test-client';
import { codeFor, expectError, redeem, refresh, secretOf } from '../../harness/flows.ts';
import { poll, startCiba, startDevice } from '../../harness/out-of-band.ts';

/** Opaque and one-time values, each for its own use alone. */
export function oneTimeValuesSuite(system: () => System): void {
  describe('opaque values', () => {
    it('are not interchangeable, and a mistaken one is not consumed (security case COD-3)', async () => {
      const { http } = system();
      const person = system().person();
      const code = await codeFor(person);
      expectError(await refresh(http, code.code), 400, 'invalid_grant');
      const tokens = tokensOf(await redeem(http, code));
      expectError(await redeem(http, { ...code, code: tokens.refreshToken ?? '' }), 400, 'invalid_grant');
      for (const value of person.cookies.values()) {
        expectError(await refresh(http, value), 400, 'invalid_grant');
        expectError(await redeem(http, { ...code, code: value }), 400, 'invalid_grant');
      }
      expect(await introspect(http, tokens.refreshToken)).toMatchObject({ active: true });
    });
  });

  describe('one-time values', () => {
    it.each(dialects)(
      'are good for their own grant alone and not consumed by another (COD-3), in the %s dialect',
      async (dialect) => {
        const { http } = system();
        const code = await codeFor(system().person());
        const first = tokensOf(await redeem(http, await codeFor(system().person())));
        const device = await startDevice(http);
        await decideDevice(system().person(), device.userCode, 'approve');
        const message = `one-time values, ${dialect}.`;
        const authReqId = await startCiba(http, { binding_message: message });
        const adas = system().person();
        await decideCiba(adas, 'approve', message);
        const session = adas.cookies.get('tessera_session') ?? '';
        const values = {
          code: code.code,
          refresh: first.refreshToken ?? '',
          device: device.deviceCode,
          authReqId,
          session,
          userCode: device.userCode,
        };
        for (const [kind, value] of Object.entries(values)) {
          const presented = [
            ...(kind === 'code' ? [] : [['authorization_code', 'acme-web', 'code'] as const]),
            ...(kind === 'refresh' ? [] : [['refresh_token', 'acme-web', 'refreshToken'] as const]),
          ];
          for (const [grantType, clientId, field] of presented) {
            const answer = await postToken(http, dialect, {
              grantType,
              clientId,
              clientSecret: secretOf[clientId],
              codeVerifier: code.verifier,
              redirectUri: 'http://127.0.0.1:9000/callback',
              [field]: value,
            });
            expectError(answer, 400, 'invalid_grant');
          }
          if (kind !== 'device')
            expectError(await poll(http, 'device', value, 'acme-tv', dialect), 400, 'invalid_grant');
          if (kind !== 'authReqId')
            expectError(await poll(http, 'ciba', value, 'acme-desk', dialect), 400, 'invalid_grant');
        }
        tokensOf(await redeem(http, code, dialect));
        tokensOf(await refresh(http, first.refreshToken, 'acme-web', dialect));
        tokensOf(await poll(http, 'device', device.deviceCode, 'acme-tv', dialect));
        tokensOf(await poll(http, 'ciba', authReqId, 'acme-desk', dialect));
      },
    );
  });
}
