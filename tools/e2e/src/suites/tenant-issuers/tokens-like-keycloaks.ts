import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as openid from 'openid-client';
import { expect, it } from 'vitest';
import { HttpClient, Person } from '@tessera/test-client';
import { realmResources } from '../../harness/declared-realm.ts';
import { people, redirectUri, secrets } from '../../harness/declared-state.ts';
import { realmIssuer } from '../../harness/tenant-issuers.ts';
import type { System } from '../../harness/set-up.ts';

const clientId = 'harbour-web';
const scope = 'openid profile email orders.read mail.read';
const aud = [...realmResources, clientId, 'account'];

/** What applications that were made for Keycloak get at the issuer of a tenant with `endpoints: keycloak`. */
export function tokensLikeKeycloaks(system: () => System): void {
  const issuer = () => realmIssuer(system());

  const discovered = () =>
    openid.discovery(new URL(issuer()), clientId, undefined, openid.ClientSecretBasic(secrets.own), {
      execute: [openid.allowInsecureRequests],
    });

  /** Signs in with no scope but `openid`, and perhaps another. */
  async function signIn(config: openid.Configuration, more = '') {
    const client = new HttpClient(() => system().baseUrl);
    const verifier = openid.randomPKCECodeVerifier();
    const [state, nonce] = [openid.randomState(), openid.randomNonce()];
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: `openid${more}`,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    });
    const person = new Person(client, people.gus);
    const started = await person.get(url.pathname + url.search);
    const { username: identifier, password } = people.gus;
    const answer = await person.submit(started.header('location') ?? '', { identifier, password });
    for (const value of client.seen) system().http.seen.add(value);
    client.close();
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce };
    return openid.authorizationCodeGrant(config, new URL(answer.header('location') ?? ''), checks);
  }

  const verified = async (token: string, audience: string) => {
    const query = new URLSearchParams({ audience, issuer: issuer() });
    const headers = { authorization: `Bearer ${token}` };
    const path = `${new URL(issuer()).pathname}/auth/verify?${query.toString()}`;
    return (await system().http.ask('GET', path, { headers })).status;
  };

  it('a tenant with endpoints: keycloak issues tokens as those of Keycloak for all default scopes', async () => {
    const config = await discovered();
    const { access_token: accessToken, id_token: idToken = '', ...tokens } = await signIn(config);
    expect(tokens.scope).toBe(scope);
    expect(decodeProtectedHeader(accessToken)).toMatchObject({ typ: 'JWT', alg: 'RS256' });
    const idClaims = decodeJwt(idToken);
    expect(idClaims).toMatchObject({ typ: 'ID', azp: clientId, aud: clientId });
    expect(decodeJwt(accessToken)).toMatchObject({
      iss: issuer(),
      sub: idClaims.sub,
      aud,
      typ: 'Bearer',
      azp: clientId,
      sid: idClaims['sid'],
      acr: '1',
      scope,
      preferred_username: 'gus',
      name: 'Gus Berg',
      given_name: 'Gus',
      family_name: 'Berg',
      email: 'gus@harbour.example',
      email_verified: true,
      realm_access: { roles: ['sailor'] },
    });
  });

  it('its tokens are read, introspected and verified like any other, and never pass for each other', async () => {
    const config = await discovered();
    const { access_token: accessToken, id_token: idToken = '' } = await signIn(config);
    const { sub = '' } = decodeJwt(idToken);
    expect((await openid.fetchUserInfo(config, accessToken, sub)).name).toBe('Gus Berg');
    expect(await openid.tokenIntrospection(config, accessToken)).toMatchObject({ active: true, aud, scope });
    expect(await openid.tokenIntrospection(config, idToken)).toEqual({ active: false });
    for (const audience of aud) {
      expect([audience, await verified(accessToken, audience)]).toEqual([audience, 200]);
      expect([audience, await verified(idToken, audience)]).toEqual([audience, 401]);
    }
    expect(await verified(accessToken, 'https://other.example')).toBe(401);
  });

  it('its refresh tokens keep all audiences, and its services get a token without a scope of a person', async () => {
    const config = await discovered();
    const first = await signIn(config, ' offline_access');
    const second = await openid.refreshTokenGrant(config, first.refresh_token ?? '');
    expect(decodeJwt(second.access_token)).toMatchObject({ aud, azp: clientId });
    const own = await openid.clientCredentialsGrant(config);
    expect(decodeJwt(own.access_token)).toMatchObject({
      sub: clientId,
      aud,
      scope: 'orders.read mail.read',
      realm_access: { roles: [] },
    });
    expect(await openid.tokenIntrospection(config, own.access_token)).toMatchObject({ active: true });
  });
}
