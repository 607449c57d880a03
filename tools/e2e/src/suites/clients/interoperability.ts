import { randomUUID } from 'node:crypto';
import * as openid from 'openid-client';
import { describe, expect, it } from 'vitest';
import { claimsOf, headerOf, newPkce } from '@tessera/test-client';
import type { System } from '../../harness/set-up.ts';
import { ordersAudience, people, redirectUri, secrets } from '../../harness/declared-state.ts';

/** openid-client, unmodified. */
export function interoperabilitySuite(system: () => System): void {
  describe('off-the-shelf clients', () => {
    /** Sends a person's browser to the authorization URL and returns the URL the client is called back at. */
    async function callback(url: URL): Promise<URL> {
      const answer = await system().person().authorize(url.search.slice(1), people.ada);
      return new URL(answer.header('location') ?? '');
    }

    it('include mcp-remote, by its requests: a free port, and a resource with a path where the audience has none (RFC 8252 §7.3, RFC 3986 §6.2.3)', async () => {
      const { http } = system();
      const { verifier, challenge } = newPkce();
      const back = 'http://127.0.0.1:28270/oauth/callback';
      const resource = `${ordersAudience}/`;
      const asked = {
        response_type: 'code',
        client_id: 'acme-native',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        redirect_uri: back,
        state: randomUUID(),
        scope: 'orders.read offline_access',
        prompt: 'consent',
        resource,
      };
      const url = new URL(`/authorize?${new URLSearchParams(asked).toString()}`, system().baseUrl);
      const called = await callback(url);
      expect(called.href.startsWith(`${back}?`)).toBe(true);
      expect(called.searchParams.get('state')).toBe(asked.state);
      const answer = await http.ask('POST', '/token', {
        form: {
          grant_type: 'authorization_code',
          code: called.searchParams.get('code') ?? '',
          code_verifier: verifier,
          redirect_uri: back,
          client_id: 'acme-native',
          resource,
        },
      });
      expect(answer.status).toBe(200);
      const { access_token: accessToken, refresh_token: refreshToken } = answer.json();
      expect(claimsOf(String(accessToken))['aud']).toBe(ordersAudience);
      const renewed = await http.ask('POST', '/token', {
        form: {
          grant_type: 'refresh_token',
          refresh_token: String(refreshToken),
          client_id: 'acme-native',
          resource,
        },
      });
      expect(claimsOf(String(renewed.json()['access_token']))['aud']).toBe(ordersAudience);
      const other = { ...asked, client_id: 'acme-spa', redirect_uri: redirectUri.replace('9000', '9001') };
      const refused = await system()
        .person()
        .get(`/authorize?${new URLSearchParams(other).toString()}`);
      expect(refused.status).toBe(400);
    });

    it('include oauth2-proxy, by its request, with a deep link of 2,400 characters in state', async () => {
      const { challenge } = newPkce();
      const link = `/reports?filter=${'"a b",'.repeat(400)}`.slice(0, 2_400);
      const asked = {
        approval_prompt: 'force',
        client_id: 'acme-web',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        nonce: 'n'.repeat(43),
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'openid email profile',
        state: `${'s'.repeat(43)}:${link}`,
      };
      const url = new URL(`/authorize?${new URLSearchParams(asked).toString()}`, system().baseUrl);
      expect((await callback(url)).searchParams.get('state')).toBe(asked.state);
    });

    it.each(['oidc', 'oauth2'] as const)('serve openid-client with %s discovery', async (algorithm) => {
      const { baseUrl } = system();
      const config = await openid.discovery(
        new URL(baseUrl),
        'acme-web',
        undefined,
        openid.ClientSecretBasic(secrets.web),
        { algorithm, execute: [openid.allowInsecureRequests] },
      );
      const verifier = openid.randomPKCECodeVerifier();
      const nonce = openid.randomNonce();
      const state = openid.randomState();
      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid profile email offline_access orders.read',
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        nonce,
        state,
      });
      const tokens = await openid.authorizationCodeGrant(config, await callback(url), {
        pkceCodeVerifier: verifier,
        expectedNonce: nonce,
        expectedState: state,
        idTokenExpected: true,
      });
      const subject = tokens.claims()?.sub ?? '';
      expect(await openid.fetchUserInfo(config, tokens.access_token, subject)).toMatchObject({
        sub: subject,
        name: people.ada.name,
        email: people.ada.email,
      });
      const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '');
      expect(refreshed.claims()?.sub).toBe(subject);
      expect(await openid.tokenIntrospection(config, refreshed.refresh_token ?? '')).toMatchObject({
        active: true,
      });
      await openid.tokenRevocation(config, refreshed.refresh_token ?? '');
      expect(await openid.tokenIntrospection(config, refreshed.refresh_token ?? '')).toEqual({
        active: false,
      });
      await expect(openid.refreshTokenGrant(config, refreshed.refresh_token ?? '')).rejects.toMatchObject({
        error: 'invalid_grant',
      });
    });

    it('serve openid-client without PKCE for an application that declares it optional (RFC 9700 section 4.8.2)', async () => {
      const config = await openid.discovery(
        new URL(system().baseUrl),
        'acme-other',
        undefined,
        openid.ClientSecretBasic(secrets.other),
        { execute: [openid.allowInsecureRequests] },
      );
      const state = openid.randomState();
      const url = openid.buildAuthorizationUrl(config, { redirect_uri: redirectUri, scope: 'openid', state });
      const downgraded = openid.authorizationCodeGrant(config, await callback(url), {
        pkceCodeVerifier: openid.randomPKCECodeVerifier(),
        expectedState: state,
      });
      await expect(downgraded).rejects.toMatchObject({ error: 'invalid_grant' });
      const tokens = await openid.authorizationCodeGrant(config, await callback(url), {
        expectedState: state,
      });
      expect(tokens.claims()?.sub).toBeTruthy();
    });

    it('serve openid-client with an access token that is signed with ES256 and an ID token with RS256', async () => {
      const insecure = { execute: [openid.allowInsecureRequests] };
      const server = new URL(system().baseUrl);
      const config = await openid.discovery(server, 'acme-people', undefined, openid.None(), insecure);
      const verifier = openid.randomPKCECodeVerifier();
      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid profile parcels.read',
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      const checks = { pkceCodeVerifier: verifier, idTokenExpected: true };
      const tokens = await openid.authorizationCodeGrant(config, await callback(url), checks);
      expect(headerOf(tokens.access_token)).toMatchObject({ alg: 'ES256' });
      expect(headerOf(tokens.id_token ?? '')).toMatchObject({ alg: 'RS256' });
      const subject = tokens.claims()?.sub ?? '';
      const info = await openid.fetchUserInfo(config, tokens.access_token, subject);
      expect(info).toMatchObject({ sub: subject, name: people.ada.name });
    });

    it('serve openid-client with client credentials', async () => {
      const config = await openid.discovery(
        new URL(system().baseUrl),
        'acme-service',
        undefined,
        openid.ClientSecretPost(secrets.service),
        { execute: [openid.allowInsecureRequests] },
      );
      const tokens = await openid.clientCredentialsGrant(config, { scope: 'orders.read' });
      expect(tokens.token_type).toBe('bearer');
      expect(tokens.expires_in).toBe(600);
    });
  });
}
