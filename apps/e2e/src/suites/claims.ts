import { describe, expect, it } from 'vitest';
import { people } from '../harness/declared-state.ts';
import { codeFor, redeem, tokensOf, type Tokens } from '../harness/flows.ts';
import type { System } from '../harness/set-up.ts';

/** Claims beyond those of the contract: what users declare, and what applications map. */
export function claimsSuite(system: () => System): void {
  const signIn = async (scope: string, person: { username: string; password: string }): Promise<Tokens> =>
    tokensOf(await redeem(system().http, await codeFor(system().person(), 'acme-people', { scope }, person)));

  async function userInfo({ accessToken }: Tokens): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${accessToken}` };
    const { sub, ...claims } = (await system().http.ask('GET', '/userinfo', { headers })).json();
    expect(sub).toMatch(/^usr_/);
    return claims;
  }

  describe('standard claims', () => {
    it('are returned with their scopes if the user has them (OIDC Core §5.1, §5.4)', async () => {
      const { updated_at: updatedAt, ...profile } = await userInfo(
        await signIn('openid profile', people.cleo),
      );
      expect(profile).toEqual({
        name: people.cleo.name,
        preferred_username: 'cleo',
        given_name: 'Cleo',
        locale: 'el-EG',
        zoneinfo: 'Africa/Cairo',
      });
      expect(updatedAt).toBeTypeOf('number');
      expect(await userInfo(await signIn('openid email phone address', people.cleo))).toEqual({
        email: people.cleo.email,
        email_verified: true,
        address: { locality: 'Alexandria', postal_code: '21500' },
      });
    });

    it('of a user who has none are those of the contract, and no others', async () => {
      expect(await userInfo(await signIn('openid profile email phone address', people.ada))).toEqual({
        name: people.ada.name,
        email: people.ada.email,
        phone_number: '+46701234567',
      });
    });
  });
}
