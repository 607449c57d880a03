import { describe, expect, it } from 'vitest';
import { people } from '../../harness/declared-state.ts';
import { claimsOf, dialects, introspect, type Tokens, tokensOf } from '@tessera/test-client';
import { codeFor, redeem, refresh } from '../../harness/flows.ts';
import type { System } from '../../harness/set-up.ts';

/** Claims of people: which an application maps, which are released. */
export function claimsSuite(system: () => System): void {
  const signIn = async (scope: string, person: { username: string; password: string }): Promise<Tokens> =>
    tokensOf(await redeem(system().http, await codeFor(system().person(), 'acme-people', { scope }, person)));
  async function userInfo({ accessToken }: Tokens): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${accessToken}` };
    const { sub, ...claims } = (await system().http.ask('GET', '/userinfo', { headers })).json();
    expect(sub).toMatch(/^usr_/);
    return claims;
  }

  describe('claims that an application maps', () => {
    it('are where it wants them: roles as groups, attributes of the user (RFC 9068 §2.2.3.1)', async () => {
      const tokens = await signIn('openid stock.count', people.cleo);
      const [idToken, accessToken] = [claimsOf(tokens.idToken), claimsOf(tokens.accessToken)];
      expect(idToken).toMatchObject({ groups: ['clerk', 'manager'], department: 'Navy' });
      expect(idToken).not.toHaveProperty('teams');
      expect(accessToken).toMatchObject({ groups: ['clerk', 'manager'], teams: ['nile', 'delta'] });
      expect(accessToken).not.toHaveProperty('department');
      expect(await userInfo(tokens)).toEqual({ department: 'Navy' });
      expect(await introspect(system().http, tokens.accessToken)).not.toHaveProperty('groups');
    });

    it('are absent for users without values, and for other applications', async () => {
      const ada = await signIn('openid', people.ada);
      expect(claimsOf(ada.idToken)).toMatchObject({ groups: ['clerk'] });
      expect(claimsOf(ada.idToken)).not.toHaveProperty('department');
      const web = tokensOf(
        await redeem(system().http, await codeFor(system().person(), 'acme-web', {}, people.cleo)),
      );
      for (const token of [web.idToken, web.accessToken]) {
        for (const name of ['groups', 'department', 'teams'])
          expect(claimsOf(token)).not.toHaveProperty(name);
      }
    });
  });

  describe('standard claims', () => {
    it('are returned with their scopes if the user has them (OIDC Core §5.1, §5.4)', async () => {
      const { updated_at: updatedAt, ...profile } = await userInfo(
        await signIn('openid profile', people.cleo),
      );
      expect(profile).toEqual({
        name: people.cleo.name,
        preferred_username: 'cleo',
        given_name: 'Cleo',
        department: 'Navy',
        locale: 'el-EG',
        zoneinfo: 'Africa/Cairo',
      });
      expect(updatedAt).toBeTypeOf('number');
      expect(await userInfo(await signIn('openid email phone address', people.cleo))).toEqual({
        email: people.cleo.email,
        email_verified: true,
        address: { locality: 'Alexandria', postal_code: '21500' },
        department: 'Navy',
      });
    });

    it.each(dialects)(
      'are in the ID token where the application declares idTokenClaims, also after a refresh, %s dialect (OIDC Core §5.4)',
      async (dialect) => {
        const { http } = system();
        const scope = 'openid profile email address offline_access';
        const code = await codeFor(system().person(), 'acme-people', { scope }, people.cleo);
        const first = tokensOf(await redeem(http, code, dialect));
        const expected = { name: people.cleo.name, given_name: 'Cleo', email: people.cleo.email };
        expect(claimsOf(first.idToken)).toMatchObject({ ...expected, email_verified: true });
        expect(claimsOf(first.idToken)).not.toHaveProperty('address');
        expect(claimsOf(first.accessToken)).not.toHaveProperty('email');
        const second = tokensOf(await refresh(http, first.refreshToken, 'acme-people', dialect));
        expect(claimsOf(second.idToken)).toMatchObject(expected);
        const narrowed = { scope: 'openid email' };
        const third = tokensOf(await refresh(http, second.refreshToken, 'acme-people', dialect, narrowed));
        expect(claimsOf(third.idToken)).toMatchObject({ email: people.cleo.email });
        expect(claimsOf(third.idToken)).not.toHaveProperty('name');
        const web = tokensOf(await redeem(http, await codeFor(system().person()), dialect));
        expect(claimsOf(web.idToken)).not.toHaveProperty('name');
      },
    );

    it('of a user who has none are those of the contract and the user name, and no others', async () => {
      expect(await userInfo(await signIn('openid profile email phone address', people.ada))).toEqual({
        name: people.ada.name,
        email: people.ada.email,
        phone_number: '+46701234567',
        preferred_username: people.ada.username,
      });
    });
  });

  it('are released by name where the claims parameter asks for them (OIDC Core §5.5)', async () => {
    const claims = JSON.stringify({
      userinfo: { email: null },
      id_token: { given_name: { essential: true } },
    });
    const code = await codeFor(
      system().person(),
      'acme-people',
      { scope: 'openid offline_access', claims },
      people.cleo,
    );
    const tokens = tokensOf(await redeem(system().http, code));
    expect(claimsOf(tokens.idToken)).toMatchObject({ given_name: 'Cleo' });
    expect(claimsOf(tokens.idToken)).not.toHaveProperty('email');
    expect(await userInfo(tokens)).toEqual({ email: people.cleo.email, department: 'Navy' });
    const refreshed = tokensOf(await refresh(system().http, tokens.refreshToken, 'acme-people'));
    expect(await userInfo(refreshed)).toEqual({ email: people.cleo.email, department: 'Navy' });
  });
}
