import { setTimeout as sleep } from 'node:timers/promises';
import * as openid from 'openid-client';

/** Reads the metadata; once, at the start. */
export function connect(issuer: string, clientId: string, clientSecret: string) {
  return openid.discovery(new URL(issuer), clientId, undefined, openid.ClientSecretBasic(clientSecret), {
    algorithm: 'oauth2',
    timeout: 5,
    // For a server on your own machine: openid-client refuses plain http otherwise.
    execute: issuer.startsWith('http:') ? [openid.allowInsecureRequests] : [],
  });
}

/** Where to send the browser, and what to keep in its session until it is back. */
export async function beginSignIn(config: openid.Configuration, redirectUri: string) {
  const kept = {
    pkceCodeVerifier: openid.randomPKCECodeVerifier(),
    expectedNonce: openid.randomNonce(),
    expectedState: openid.randomState(),
  };
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid profile offline_access orders.read',
    code_challenge: await openid.calculatePKCECodeChallenge(kept.pkceCodeVerifier),
    code_challenge_method: 'S256',
    nonce: kept.expectedNonce,
    state: kept.expectedState,
  });
  return { url, kept };
}

type Kept = Awaited<ReturnType<typeof beginSignIn>>['kept'];

/** The tokens. `callback` is the whole address that the browser came back to. */
export function finishSignIn(config: openid.Configuration, callback: URL, kept: Kept) {
  return openid.authorizationCodeGrant(config, callback, { ...kept, idTokenExpected: true });
}

/** New tokens. A 503 and a lost answer are asked again with the same token, five times within the retry window. */
export async function refresh(config: openid.Configuration, refreshToken: string) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openid.refreshTokenGrant(config, refreshToken);
    } catch (error) {
      const isRefused =
        error instanceof openid.ResponseBodyError || error instanceof openid.WWWAuthenticateChallengeError;
      if (isRefused || attempt === 5) throw error;
      await sleep(1000);
    }
  }
}

/** Where to send the browser to end its session with Tessera; it comes back to `returnTo`. */
export function signOutUrl(config: openid.Configuration, idToken: string, returnTo: string) {
  return openid.buildEndSessionUrl(config, { id_token_hint: idToken, post_logout_redirect_uri: returnTo });
}
