import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import { parcelAudience, people, shelfAudience, stockAudience } from '../harness/declared-state.ts';
import { claimsOf, dialects, headerOf, introspect, type Tokens, tokensOf } from '@tessera/test-client';
import { codeFor, redeem, refresh } from '../harness/flows.ts';
import type { System } from '../harness/set-up.ts';

/** Claims beyond those of the contract: what users declare, and what applications map. */
export function claimsSuite(system: () => System): void {
  const signIn = async (scope: string, person: { username: string; password: string }): Promise<Tokens> =>
    tokensOf(await redeem(system().http, await codeFor(system().person(), 'acme-people', { scope }, person)));

  /** What a resource server of oauth4webapi says of an access token (RFC 9068 §4). */
  async function validated({ accessToken }: Tokens, audience: string): Promise<oauth.JWTAccessTokenClaims> {
    const insecure = { [oauth.allowInsecureRequests]: true };
    const issuer = new URL(system().baseUrl);
    const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
    const as = await oauth.processDiscoveryResponse(issuer, discovered);
    const request = new Request(audience, { headers: { authorization: `Bearer ${accessToken}` } });
    return oauth.validateJwtAccessToken(as, request, audience, insecure);
  }

  async function userInfo({ accessToken }: Tokens): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${accessToken}` };
    const { sub, ...claims } = (await system().http.ask('GET', '/userinfo', { headers })).json();
    expect(sub).toMatch(/^usr_/);
    return claims;
  }

  describe('the shape of access tokens that a resource declares', () => {
    it('is that of RFC 9068 with scopeFormat string, validated by oauth4webapi', async () => {
      const tokens = await signIn('openid stock.count', people.cleo);
      expect(await validated(tokens, stockAudience)).toMatchObject({
        aud: stockAudience,
        client_id: 'acme-people',
        scope: 'openid stock.count',
      });
      expect(headerOf(tokens.accessToken)).toMatchObject({ typ: 'at+jwt' });
      expect(await introspect(system().http, tokens.accessToken)).toMatchObject({
        active: true,
        scope: 'openid stock.count',
      });
    });

    it('may have a signature with ES256, which jose and oauth4webapi verify offline (RFC 9068 section 4)', async () => {
      const { http, baseUrl } = system();
      const first = await signIn('openid offline_access parcels.read', people.cleo);
      const refreshed = tokensOf(await refresh(http, first.refreshToken, 'acme-people'));
      for (const tokens of [first, refreshed]) {
        expect(headerOf(tokens.accessToken)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
        expect(headerOf(tokens.idToken ?? '')).toMatchObject({ alg: 'RS256', typ: 'JWT' });
        const facts = { aud: parcelAudience, client_id: 'acme-people' };
        expect(await validated(tokens, parcelAudience)).toMatchObject(facts);
        const keys = createRemoteJWKSet(new URL(`${baseUrl}/.well-known/jwks.json`));
        const rules = { issuer: baseUrl, audience: parcelAudience, typ: 'at+jwt' };
        const verified = await jwtVerify(tokens.accessToken, keys, { ...rules, algorithms: ['ES256'] });
        expect(verified.payload).toMatchObject(facts);
        const other = jwtVerify(tokens.accessToken, keys, { ...rules, algorithms: ['RS256'] });
        await expect(other).rejects.toMatchObject({ code: 'ERR_JOSE_ALG_NOT_ALLOWED' });
        expect(await introspect(http, tokens.accessToken)).toMatchObject({ active: true, ...facts });
        await userInfo(tokens);
      }
    });

    it('may have the typ JWT, and no such token passes for an ID token or the reverse', async () => {
      const { http, baseUrl } = system();
      const tokens = await signIn('openid shelf.count', people.cleo);
      expect(headerOf(tokens.accessToken)).toMatchObject({ typ: 'JWT' });
      expect(claimsOf(tokens.accessToken)).toMatchObject({
        iss: baseUrl,
        aud: shelfAudience,
        client_id: 'acme-people',
        scope: 'openid shelf.count',
      });
      const idToken = tokens.idToken ?? '';
      expect(claimsOf(idToken)).toMatchObject({ iss: baseUrl, aud: 'acme-people' });
      expect(claimsOf(idToken)).not.toHaveProperty('client_id');
      expect(await introspect(http, tokens.accessToken)).toMatchObject({
        active: true,
        scope: 'openid shelf.count',
      });
      expect(await introspect(http, idToken)).toEqual({ active: false });
      const userInfoStatus = async (token: string) =>
        (await http.ask('GET', '/userinfo', { headers: { authorization: `Bearer ${token}` } })).status;
      expect(await userInfoStatus(tokens.accessToken)).toBe(200);
      expect(await userInfoStatus(idToken)).toBe(401);
    });

    it('is otherwise that of the contract', async () => {
      const tokens = tokensOf(await redeem(system().http, await codeFor(system().person())));
      expect(headerOf(tokens.accessToken)).toMatchObject({ typ: 'at+jwt' });
      expect(claimsOf(tokens.accessToken)['scope']).toEqual(tokens.scope?.split(' '));
    });
  });

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

    it('of a user who has none are those of the contract, and no others', async () => {
      expect(await userInfo(await signIn('openid profile email phone address', people.ada))).toEqual({
        name: people.ada.name,
        email: people.ada.email,
        phone_number: '+46701234567',
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
