import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { people, redirectUri, secrets } from '../../harness/declared-state.ts';

/** oauth4webapi, unmodified. */
export function oauth4webapiSuite(system: () => System): void {
  describe('off-the-shelf clients', () => {
    /** Sends a person's browser to the authorization URL and returns the URL the client is called back at. */
    async function callback(url: URL): Promise<URL> {
      const answer = await system().person().authorize(url.search.slice(1), people.ada);
      return new URL(answer.header('location') ?? '');
    }

    it('serve oauth4webapi: code with PKCE, ID token, refresh, userinfo, introspection, revocation', async () => {
      const insecure = { [oauth.allowInsecureRequests]: true } as const;
      const issuer = new URL(system().baseUrl);
      const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
      const as = await oauth.processDiscoveryResponse(issuer, discovered);
      const client: oauth.Client = { client_id: 'acme-web' };
      const authentication = oauth.ClientSecretBasic(secrets.web);
      const verifier = oauth.generateRandomCodeVerifier();
      const nonce = oauth.generateRandomNonce();
      const state = oauth.generateRandomState();
      const url = new URL(as.authorization_endpoint ?? '');
      url.search = new URLSearchParams({
        client_id: client.client_id,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'openid offline_access orders.read',
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        nonce,
        state,
      }).toString();
      const parameters = oauth.validateAuthResponse(as, client, await callback(url), state);
      const exchanged = await oauth.authorizationCodeGrantRequest(
        as,
        client,
        authentication,
        parameters,
        redirectUri,
        verifier,
        insecure,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(as, client, exchanged, {
        expectedNonce: nonce,
        requireIdToken: true,
      });
      await oauth.validateApplicationLevelSignature(as, exchanged, insecure);
      const subject = oauth.getValidatedIdTokenClaims(tokens)?.sub ?? '';
      const info = await oauth.userInfoRequest(as, client, tokens.access_token, insecure);
      expect(await oauth.processUserInfoResponse(as, client, subject, info)).toMatchObject({ sub: subject });
      const refreshing = await oauth.refreshTokenGrantRequest(
        as,
        client,
        authentication,
        tokens.refresh_token ?? '',
        insecure,
      );
      const refreshed = await oauth.processRefreshTokenResponse(as, client, refreshing);
      const asked = await oauth.introspectionRequest(
        as,
        client,
        authentication,
        refreshed.access_token,
        insecure,
      );
      expect(await oauth.processIntrospectionResponse(as, client, asked)).toMatchObject({
        active: true,
        sub: subject,
      });
      const revoking = await oauth.revocationRequest(
        as,
        client,
        authentication,
        refreshed.refresh_token ?? '',
        insecure,
      );
      await oauth.processRevocationResponse(revoking);
    });
  });
}
