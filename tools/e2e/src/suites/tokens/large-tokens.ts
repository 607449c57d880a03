import { describe, expect, it } from 'vitest';
import { claimsOf, introspect, tokensOf } from '@tessera/test-client';
import { ordersAudience, parcelAudience, people, redirectUri } from '../../harness/declared-state.ts';
import { authorizeQuery, codeFor, redeem, refresh } from '../../harness/flows.ts';
import type { System } from '../../harness/set-up.ts';

const roles = Array.from({ length: 700 }, (_, index) => `department-${index + 100}-of-acme`);
const scope = 'openid profile offline_access parcels.read';
const app = 'acme-people';

/**
 * People with hundreds of roles: what the server issues it accepts. The last suite of its system, which keeps the
 * roles.
 */
export function largeTokensSuite(system: () => System): void {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const queryOf = (parameters: Record<string, string>) => new URLSearchParams(parameters).toString();

  describe('tokens of a person with 700 roles', () => {
    it('are accepted at every endpoint that takes tokens, in the head and in the form of a request', async () => {
      await system().apply({ moreRoles: roles, adaRoles: roles });
      try {
        const { http } = system();
        const person = system().person();
        const tokens = tokensOf(await redeem(http, await codeFor(person, app, { scope })));
        const { accessToken, refreshToken = '', idToken = '' } = tokens;
        expect(accessToken.length).toBeGreaterThan(40 * 1024);
        expect(idToken.length).toBeGreaterThan(20 * 1024);
        expect(claimsOf(accessToken)).toMatchObject({ role: roles, groups: roles });

        expect((await http.ask('GET', '/userinfo', { headers: bearer(accessToken) })).status).toBe(200);
        expect((await http.ask('POST', '/userinfo', { headers: bearer(accessToken) })).status).toBe(200);
        const posted = await http.ask('POST', '/userinfo', { form: { access_token: accessToken } });
        expect(posted.json()).toMatchObject({ preferred_username: people.ada.username });
        expect(await introspect(http, accessToken)).toMatchObject({ active: true, aud: parcelAudience });
        const form = await http.ask('POST', '/introspect', { form: { token: accessToken } });
        expect(form.json()).toMatchObject({ active: true });
        const verified = await http.ask('GET', `/auth/verify?${queryOf({ audience: parcelAudience })}`, {
          headers: bearer(accessToken),
        });
        expect(verified.status).toBe(200);
        expect(verified.header('x-auth-roles')?.split(',')).toEqual(roles);

        const asked = { client_id: app, scope, prompt: 'none', id_token_hint: idToken };
        const byGet = await person.get(`/authorize?${authorizeQuery(asked)}`);
        expect(byGet.header('location')).toContain(`${redirectUri}?code=`);
        const byPost = await person.post(
          '/authorize',
          Object.fromEntries(new URLSearchParams(authorizeQuery(asked))),
        );
        expect(byPost.status).toBe(303);
        expect((await person.get(byPost.header('location') ?? '')).header('location')).toContain(
          `${redirectUri}?code=`,
        );

        const successor = tokensOf(await refresh(http, refreshToken, app));
        expect(claimsOf(successor.accessToken)['role']).toEqual(roles);

        const leaving = await person.post('/logout', { id_token_hint: idToken, client_id: app });
        expect(leaving.status).toBe(303);
        expect((await person.get(leaving.header('location') ?? '')).status).toBe(302);
        const gone = await person.get(`/authorize?${authorizeQuery(asked)}`);
        expect(gone.header('location')).toContain('error=login_required');
        const again = system().person();
        await codeFor(again, app, { scope });
        const left = await again.get(`/logout?${queryOf({ id_token_hint: idToken, client_id: app })}`);
        expect(left.status).toBe(302);
        expect((await again.get(`/authorize?${authorizeQuery(asked)}`)).header('location')).toContain(
          'error=login_required',
        );
      } finally {
        await system().apply({ moreRoles: roles });
      }
    });

    it('name those alone that the application and the resource list', async () => {
      const [first = '', second = '', third = ''] = roles;
      await system().apply({
        moreRoles: roles,
        adaRoles: roles,
        webRoles: [second, first, 'clerk'],
        ordersRoles: [third, first],
      });
      try {
        const { http } = system();
        const person = system().person();
        const ofOrders = tokensOf(await redeem(http, await codeFor(person)));
        expect(claimsOf(ofOrders.accessToken)).toMatchObject({ aud: ordersAudience, role: [first] });
        const ofIssuer = tokensOf(await redeem(http, await codeFor(person, 'acme-web', { scope: 'openid' })));
        expect(claimsOf(ofIssuer.accessToken)['role']).toEqual([first, second]);
        const ofOther = tokensOf(await redeem(http, await codeFor(person, app, { scope })));
        expect(claimsOf(ofOther.accessToken)['role']).toEqual(roles);
      } finally {
        await system().apply({ moreRoles: roles });
      }
    });
  });
}
