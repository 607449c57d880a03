import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { introspect, revoke, tokensOf } from '@tessera/test-client';
import { clientCredentials, codeFor, expectError, redeem, refresh } from '../../harness/flows.ts';
import { secrets } from '../../harness/declared-state.ts';

/** Revocation in both dialects. */
export function revocationSuite(system: () => System): void {
  describe('revocation', () => {
    it('revokes with DELETE /revoke, as often as asked, and leaves issued access tokens alone', async () => {
      const { http } = system();
      const tokens = tokensOf(await redeem(http, await codeFor(system().person())));
      for (let time = 0; time < 2; time += 1) {
        const answer = await revoke(http, tokens.refreshToken, 'lost phone');
        expect(answer.status).toBe(200);
        expect(answer.json()).toEqual({ message: 'Refresh token revoked.' });
      }
      expectError(await refresh(http, tokens.refreshToken), 400, 'invalid_grant');
      expect(await introspect(http, tokens.refreshToken)).toEqual({ active: false });
      expect(await introspect(http, tokens.accessToken)).toMatchObject({ active: true });
    });

    it('revokes whatever the reason looks like (contract, DELETE /revoke)', async () => {
      const { http } = system();
      for (const reason of [`lost${'\u{1f4f1}'.repeat(600)}`, 'a\nb\u0000c\u001b[31m', 'a\ud800']) {
        const tokens = tokensOf(await redeem(http, await codeFor(system().person())));
        expect((await revoke(http, tokens.refreshToken, reason)).json()).toEqual({
          message: 'Refresh token revoked.',
        });
        expect(await introspect(http, tokens.refreshToken)).toEqual({ active: false });
      }
    });

    it('answers a missing, lost or foreign token with 400 and never with "revoked"', async () => {
      const { http } = system();
      const service = tokensOf(await clientCredentials(http));
      const answers = [
        await http.ask('DELETE', '/revoke'),
        await http.ask('DELETE', '/revoke', { body: '', headers: { 'content-type': 'application/json' } }),
        await http.ask('DELETE', '/revoke', { json: {} }),
        await revoke(http, ''),
        await revoke(http, 'tr_unknown'),
        await revoke(http, service.accessToken),
      ];
      for (const answer of answers) {
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(answer.status).toBeLessThan(500);
        expect(answer.text).not.toContain('revoked.');
      }
    });

    it('revokes by RFC 7009 with client authentication, and answers 200 for unknown tokens (section 2.2)', async () => {
      const { http } = system();
      const tokens = tokensOf(await redeem(http, await codeFor(system().person())));
      const ask = async (token: string | undefined, id: string, secret: string) =>
        http.ask('POST', '/revoke', { form: { token: token ?? '' }, basic: [id, secret] });
      expectError(
        await http.ask('POST', '/revoke', { form: { token: tokens.refreshToken ?? '' } }),
        401,
        'invalid_client',
      );
      expect((await ask(tokens.refreshToken, 'acme-other', secrets.other)).status).toBe(200);
      expect(await introspect(http, tokens.refreshToken)).toMatchObject({ active: true });
      expect((await ask('unknown', 'acme-web', secrets.web)).status).toBe(200);
      expect((await ask(tokens.refreshToken, 'acme-web', secrets.web)).status).toBe(200);
      expect(await introspect(http, tokens.refreshToken)).toEqual({ active: false });
    });

    it('offers each dialect only its own method', async () => {
      const { http } = system();
      const answer = await http.ask('POST', '/revoke', { json: { token: 'x' } });
      expect(answer.status).toBe(405);
      expect(answer.header('allow')).toContain('DELETE');
    });
  });
}
