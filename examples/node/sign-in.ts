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

/**
 * Where to send the browser, and what to keep in its session until it is back. `stepUp` is what `callApi` says, if an
 * API asked for more.
 */
export async function beginSignIn(
  config: openid.Configuration,
  redirectUri: string,
  stepUp: Record<string, string> = {},
) {
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
    ...stepUp,
  });
  return { url, kept };
}

type Kept = Awaited<ReturnType<typeof beginSignIn>>['kept'];

/** The tokens. `callback` is the whole address that the browser came back to. */
export function finishSignIn(config: openid.Configuration, callback: URL, kept: Kept) {
  return openid.authorizationCodeGrant(config, callback, { ...kept, idTokenExpected: true });
}

/**
 * The answer of an API; or, if the sign-in is too weak or too old for it, what the next one must ask for (RFC 9470 §4).
 */
export async function callApi(config: openid.Configuration, accessToken: string, url: URL) {
  try {
    return { response: await openid.fetchProtectedResource(config, accessToken, url, 'GET') };
  } catch (error) {
    if (!(error instanceof openid.WWWAuthenticateChallengeError)) throw error;
    const demanded = error.cause.find(
      ({ parameters }) => parameters.error === 'insufficient_user_authentication',
    );
    if (demanded === undefined) throw error;
    const { acr_values: classes, max_age: age } = demanded.parameters;
    return { stepUp: { ...(classes && { acr_values: classes }), ...(age && { max_age: age }) } };
  }
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
