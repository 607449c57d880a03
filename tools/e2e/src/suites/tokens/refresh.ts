import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { claimsOf, dialects, tokensOf } from '@tessera/test-client';
import { codeFor, expectError, redeem, refresh } from '../../harness/flows.ts';
import { billingAudience, ordersAudience } from '../../harness/declared-state.ts';

/** Refresh tokens, as a client uses them. */
export function refreshSuite(system: () => System): void {
  describe.each(dialects)('refresh token in the %s dialect', (dialect) => {
    it('rotates the refresh token at every use and never widens the scope (RFC 6749 section 6)', async () => {
      const { http } = system();
      const first = tokensOf(await redeem(http, await codeFor(system().person()), dialect));
      const narrowed = tokensOf(
        await refresh(http, first.refreshToken, 'acme-web', dialect, { scope: 'openid' }),
      );
      expect(narrowed.scope).toBe('openid');
      expect(narrowed.refreshToken === first.refreshToken).toBe(false);
      expectError(
        await refresh(http, narrowed.refreshToken, 'acme-web', dialect, { scope: 'openid orders.write' }),
        400,
        'invalid_scope',
      );
      const whole = tokensOf(await refresh(http, narrowed.refreshToken, 'acme-web', dialect));
      expect(whole.scope?.split(' ')).toContain('orders.read');
      expect(claimsOf(whole.idToken)).toMatchObject({
        sub: claimsOf(first.idToken)['sub'],
        auth_time: claimsOf(first.idToken)['auth_time'],
      });
    });

    it('keeps the resource of an authorization request without scopes of it, across refreshes (RFC 8707 section 2.2)', async () => {
      const { http } = system();
      const resource = ordersAudience;
      const elsewhere = { resource: billingAudience };
      const code = await codeFor(system().person(), 'acme-web', { scope: 'openid offline_access', resource });
      expectError(await redeem(http, code, dialect, elsewhere), 400, 'invalid_target');
      const tokens = tokensOf(await redeem(http, code, dialect, { resource }));
      expect(claimsOf(tokens.accessToken)).toMatchObject({ aud: resource });
      const refused = await refresh(http, tokens.refreshToken, 'acme-web', dialect, elsewhere);
      expectError(refused, 400, 'invalid_target');
      const next = tokensOf(await refresh(http, tokens.refreshToken, 'acme-web', dialect, { resource }));
      expect(claimsOf(next.accessToken)).toMatchObject({ aud: resource });
      expect(next.scope?.split(' ').sort()).toEqual(['offline_access', 'openid']);
      const last = tokensOf(await refresh(http, next.refreshToken, 'acme-web', dialect));
      expect(claimsOf(last.accessToken)).toMatchObject({ aud: resource });
    });

    it('gives the same successor again to a retry, until the successor is used; then ends the family', async () => {
      const { http } = system();
      const first = tokensOf(await redeem(http, await codeFor(system().person()), dialect));
      const second = tokensOf(await refresh(http, first.refreshToken, 'acme-web', dialect));
      const again = tokensOf(await refresh(http, first.refreshToken, 'acme-web', dialect));
      expect(again.refreshToken === second.refreshToken).toBe(true);
      const third = tokensOf(await refresh(http, second.refreshToken, 'acme-web', dialect));
      expectError(await refresh(http, first.refreshToken, 'acme-web', dialect), 400, 'invalid_grant');
      expectError(await refresh(http, third.refreshToken, 'acme-web', dialect), 400, 'invalid_grant');
    });

    it("leaves a family untouched by another client's attempt", async () => {
      const { http } = system();
      const first = tokensOf(await redeem(http, await codeFor(system().person()), dialect));
      expectError(await refresh(http, first.refreshToken, 'acme-other', dialect), 400, 'invalid_grant');
      tokensOf(await refresh(http, first.refreshToken, 'acme-web', dialect));
    });

    it('refuses every mutilation of a refresh token', async () => {
      const { http } = system();
      const { refreshToken = '' } = tokensOf(await redeem(http, await codeFor(system().person()), dialect));
      const variants = [
        refreshToken.slice(0, -1),
        `${refreshToken}A`,
        ` ${refreshToken}`,
        refreshToken.toUpperCase(),
        refreshToken.slice(3),
        `tc_${refreshToken.slice(3)}`,
        `${refreshToken}=`,
      ];
      for (const variant of variants) {
        expectError(await refresh(http, variant, 'acme-web', dialect), 400, 'invalid_grant');
      }
      tokensOf(await refresh(http, refreshToken, 'acme-web', dialect));
    });
  });
}
