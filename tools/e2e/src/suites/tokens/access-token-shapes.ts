import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import { parcelAudience, people, shelfAudience, stockAudience } from '../../harness/declared-state.ts';
import { claimsOf, headerOf, introspect, type Tokens, tokensOf } from '@tessera/test-client';
import { codeFor, redeem, refresh } from '../../harness/flows.ts';
import type { System } from '../../harness/set-up.ts';

/** The shape of access tokens, as a resource declares it. */
export function accessTokenShapesSuite(system: () => System): void {
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
}
