import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { dialects, introspect, tokensOf } from '@tessera/test-client';
import { codeFor, expectError, redeem, refresh } from '../../harness/flows.ts';
import { redirectUri } from '../../harness/declared-state.ts';

/** Authorization codes that are presented again, by others, or without what belongs to them. */
export function codeRedemptionSuite(system: () => System): void {
  describe.each(dialects)('authorization code in the %s dialect', (dialect) => {
    it('refuses a second use and revokes what the first issued (RFC 6749 section 4.1.2)', async () => {
      const { http } = system();
      const code = await codeFor(system().person());
      const tokens = tokensOf(await redeem(http, code, dialect));
      expectError(await redeem(http, code, dialect), 400, 'invalid_grant');
      expectError(await refresh(http, tokens.refreshToken, 'acme-web', dialect), 400, 'invalid_grant');
    });

    it('sees a second use also where it is wrong otherwise, and after a logout (RFC 6749 section 4.1.2)', async () => {
      const { http } = system();
      const person = system().person();
      const logout = async (): Promise<void> => void (await person.get('/logout'));
      const seconds: [Parameters<typeof redeem>[3], () => Promise<void>][] = [
        [{ codeVerifier: 'v'.repeat(43) }, async () => {}],
        [{ redirectUri: `${redirectUri}/` }, async () => {}],
        [{}, logout],
      ];
      for (const [more, before] of seconds) {
        const code = await codeFor(person);
        const tokens = tokensOf(await redeem(http, code, dialect));
        await before();
        expectError(await redeem(http, code, dialect, more), 400, 'invalid_grant');
        expectError(await refresh(http, tokens.refreshToken, 'acme-web', dialect), 400, 'invalid_grant');
      }
    });

    it("refuses another client's attempt, which changes nothing (RFC 6749 section 5.2)", async () => {
      const { http } = system();
      const code = await codeFor(system().person());
      const thief = { ...code, clientId: 'acme-other' };
      expectError(await redeem(http, thief, dialect), 400, 'invalid_grant');
      const tokens = tokensOf(await redeem(http, code, dialect));
      expectError(await redeem(http, thief, dialect), 400, 'invalid_grant');
      expect(await introspect(http, tokens.refreshToken)).toMatchObject({ active: true });
    });

    it('consumes nothing when the client fails to authenticate', async () => {
      const { http } = system();
      const code = await codeFor(system().person());
      expectError(await redeem(http, code, dialect, { clientSecret: 'y'.repeat(43) }), 401, 'invalid_client');
      tokensOf(await redeem(http, code, dialect));
    });

    it('burns the code at a wrong verifier or redirect URI (RFC 7636 section 4.6)', async () => {
      const { http } = system();
      const person = system().person();
      for (const wrong of [{ codeVerifier: 'v'.repeat(43) }, { redirectUri: `${redirectUri}/` }]) {
        const code = await codeFor(person);
        expectError(await redeem(http, code, dialect, wrong), 400, 'invalid_grant');
        expectError(await redeem(http, code, dialect), 400, 'invalid_grant');
      }
    });

    it('asks for the verifier of confidential clients too (RFC 9700 section 2.1.1)', async () => {
      const { http } = system();
      const code = await codeFor(system().person());
      for (const codeVerifier of [undefined, '']) {
        expectError(await redeem(http, code, dialect, { codeVerifier }), 400, 'invalid_request');
      }
      for (const codeVerifier of ['short', 'v'.repeat(129), `${'v'.repeat(42)}!`]) {
        const refused = await redeem(http, await codeFor(system().person()), dialect, { codeVerifier });
        expect(refused.status).toBe(400);
      }
    });
  });
}
