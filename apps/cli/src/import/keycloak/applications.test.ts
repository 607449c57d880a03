import { describe, expect, it } from 'vitest';
import { client, movedClient, type Part } from '../../testing/moved-realm.ts';

/** Keycloak's own, of half an hour and ten hours. */
const session = { sessionRefreshTokenIdle: 1800, sessionRefreshTokenAbsolute: 36_000 };

describe('clients', () => {
  it('are applications with their grants, addresses, lifetime and secret', () => {
    const { application, leftOut } = movedClient({
      name: '${client_web}',
      enabled: false,
      rootUrl: 'https://web.example/',
      redirectUris: ['/cb', 'https://web.example/cb'],
      serviceAccountsEnabled: true,
      attributes: {
        'post.logout.redirect.uris': '/bye##+',
        'backchannel.logout.url': 'https://web.example/logout',
        'access.token.lifespan': '600',
        'oauth2.device.authorization.grant.enabled': 'true',
      },
    });
    expect(application).toEqual({
      clientId: 'web',
      name: 'web',
      type: 'confidential',
      status: 'disabled',
      grantTypes: ['authorization_code', 'refresh_token', 'device_code', 'client_credentials'],
      redirectUris: ['https://web.example/cb'],
      logoutRedirectUris: ['https://web.example/bye', 'https://web.example/cb'],
      pkce: 'optional',
      backchannelLogoutUri: 'https://web.example/logout',
      backchannelLogoutSessionRequired: false,
      scopes: ['openid'],
      lifetimes: { accessToken: 600, ...session },
      claims: {
        keycloak_id: { attribute: 'keycloakId', targets: ['idToken', 'accessToken', 'userinfo'] },
      },
      secrets: [{ value: client.secret }],
    });
    expect(leftOut).toEqual([
      expect.stringMatching(
        /^application web: none of its scopes names an audience; it gets tokens by itself only/,
      ),
    ]);
  });

  it('have access tokens and refresh tokens that live as long as in Keycloak, by default five minutes', () => {
    const lifetimes = (attributes: Part, ofRealm: Part = {}) =>
      movedClient({ attributes }, {}, ofRealm).application?.['lifetimes'];
    expect(lifetimes({})).toEqual({ accessToken: 300, ...session });
    expect(lifetimes({ 'access.token.lifespan': '-1' }, { accessTokenLifespan: 60 })).toEqual({
      accessToken: 60,
      ...session,
    });
    const offline = { offlineSessionIdleTimeout: 3600, offlineSessionMaxLifespan: 7200 };
    expect(lifetimes({}, offline)).toEqual({ accessToken: 300, refreshTokenIdle: 3600, ...session });
    expect(lifetimes({}, { ...offline, offlineSessionMaxLifespanEnabled: true })).toEqual({
      accessToken: 300,
      refreshTokenIdle: 3600,
      refreshTokenAbsolute: 7200,
      ...session,
    });
    expect(lifetimes({ 'client.offline.session.idle.timeout': '1800' }, offline)).toMatchObject({
      refreshTokenIdle: 1800,
    });
  });

  it('have refresh tokens of a session that end as in Keycloak, the client before the realm and never after it', () => {
    const lifetimes = (attributes: Part, ofRealm: Part = {}) => {
      const { sessionRefreshTokenIdle, sessionRefreshTokenAbsolute } = (movedClient(
        { attributes },
        {},
        ofRealm,
      ).application?.['lifetimes'] ?? {}) as Partial<typeof session>;
      return [sessionRefreshTokenIdle, sessionRefreshTokenAbsolute];
    };
    const ofRealm = { ssoSessionIdleTimeout: 900, ssoSessionMaxLifespan: 7200 };
    const ofClients = { clientSessionIdleTimeout: 600, clientSessionMaxLifespan: 3600 };
    const own = { 'client.session.idle.timeout': '300', 'client.session.max.lifespan': '80000' };
    expect(lifetimes({}, ofRealm)).toEqual([900, 7200]);
    expect(lifetimes({}, { ...ofRealm, ...ofClients })).toEqual([600, 3600]);
    expect(lifetimes(own, { ...ofRealm, ...ofClients })).toEqual([300, 7200]);
    expect(lifetimes({}, { ssoSessionIdleTimeout: 0, ssoSessionMaxLifespan: 31_536_000 })).toEqual([
      undefined,
      undefined,
    ]);
    expect(lifetimes({ 'use.refresh.tokens': 'false' }, ofRealm)).toEqual([undefined, undefined]);
  });

  it('keep that loopback redirect URIs without a port match every port (RFC 8252 §7.3)', () => {
    const ports = (...redirectUris: string[]) => {
      const { application, leftOut } = movedClient({ redirectUris });
      return [application?.['loopbackPorts'], leftOut.filter((line) => line.startsWith('any port'))];
    };
    expect(ports('http://127.0.0.1', 'http://localhost/cb?a=1', 'https://web.example:8443/cb')).toEqual([
      'any',
      [],
    ]);
    expect(ports('https://web.example/cb')).toEqual([undefined, []]);
    expect(ports('http://localhost:3000/cb')).toEqual([undefined, []]);
    expect(ports('http://localhost:3000/cb', 'http://localhost/cb')).toEqual([
      undefined,
      [expect.stringMatching(/^any port .* application web: http:\/\/localhost:3000\/cb has its own/)],
    ]);
  });

  it('that ask people for their consent go on to ask', () => {
    expect(movedClient({ consentRequired: true }).application).toMatchObject({ thirdParty: true });
    expect(movedClient({ consentRequired: false }).application).not.toHaveProperty('thirdParty');
  });

  it('lose redirect URIs with wildcards or without a host, and what Tessera does not do', () => {
    const { application, leftOut } = movedClient({
      redirectUris: ['/*', '/cb', 'https://web.example/cb'],
      implicitFlowEnabled: true,
      directAccessGrantsEnabled: true,
      authorizationServicesEnabled: true,
      attributes: {
        'oidc.ciba.grant.enabled': 'true',
        'standard.token.exchange.enabled': 'true',
        'frontchannel.logout.url': 'https://web.example/out',
      },
    });
    expect(application?.['redirectUris']).toEqual(['https://web.example/cb']);
    expect(leftOut).toEqual([
      'redirect URI /* of application web: wildcards are refused',
      'redirect URI /cb of application web: its host is not in the file',
      ...[
        'implicit flow',
        'password grant',
        'CIBA, which needs a way to approve,',
        'token exchange',
        'authorization services',
        'front-channel logout',
      ].map((what) => `${what} of application web: has no counterpart`),
    ]);
  });

  it.each([
    [{ protocol: 'saml' }, 'SAML has no counterpart'],
    [{ bearerOnly: true }, 'an API is no application, but a resource with the scopes that name its audience'],
    [{ clientAuthenticatorType: 'client-jwt' }, 'client-jwt instead of a secret has no counterpart'],
    [{ standardFlowEnabled: false }, 'no grant is left'],
  ])('with %j are left out: %s', (part, reason) => {
    expect(movedClient(part)).toEqual({ application: undefined, leftOut: [`application web: ${reason}`] });
  });

  it.each([
    ['**********', 'its secret is not in the file; export with kc.sh'],
    [undefined, 'its secret is not in the file; export with kc.sh'],
    ['$(env:SECRET_OF_THE_WEB_APPLICATION_OF_HARBOUR)', 'its secret is not in the file; export with kc.sh'],
    ['${SECRET_OF_THE_WEB_APPLICATION_OF_HARBOUR}', 'its secret is not in the file; export with kc.sh'],
    ['short', expect.stringMatching(/^its secret has fewer than 32 characters; make a longer one/) as string],
  ])('with the secret %j come disabled, with one that has expired', (secret, reason) => {
    const { application, leftOut } = movedClient({ secret });
    expect(application).toMatchObject({
      status: 'disabled',
      secrets: [{ value: 'no secret of web ---------------', expiresAt: '1970-01-01T00:00:00Z' }],
    });
    expect(leftOut.map((line) => line.replace('application web: comes disabled: ', ''))).toEqual([reason]);
    expect(JSON.stringify([application, leftOut])).not.toContain('"short"');
  });

  it('keep the end of their secret', () => {
    const { application } = movedClient({ attributes: { 'client.secret.expiration.time': '1893456000' } });
    expect(application?.['secrets']).toEqual([
      { value: client.secret, expiresAt: '2030-01-01T00:00:00.000Z' },
    ]);
  });

  it.each(['100000000000000', '253402300800', '1e300', 'soon', '1.5'])(
    'whose secret ends at %s, which is no time, come disabled',
    (time) => {
      const { application, leftOut } = movedClient({ attributes: { 'client.secret.expiration.time': time } });
      expect(application).toMatchObject({
        status: 'disabled',
        secrets: [{ expiresAt: '1970-01-01T00:00:00Z' }],
      });
      expect(leftOut).toEqual(['application web: comes disabled: the end of its secret is no time']);
    },
  );

  it('without an exact redirect URI come disabled, to be given some, unless they have another grant', () => {
    const part = { redirectUris: ['', '*', 'https://web.example/*'] };
    const { application, leftOut } = movedClient(part);
    expect(application).toMatchObject({ status: 'disabled', grantTypes: ['refresh_token'] });
    expect(application).not.toHaveProperty('redirectUris');
    expect(leftOut).toEqual([
      'redirect URI * of application web: wildcards are refused',
      'redirect URI https://web.example/* of application web: wildcards are refused',
      expect.stringMatching(/^application web: comes disabled: no exact redirect URI is left/),
    ]);
    const service = movedClient({ ...part, serviceAccountsEnabled: true });
    expect(service.application).toMatchObject({ grantTypes: ['client_credentials'] });
    expect(service.application).not.toHaveProperty('status');
  });

  it('that are public must send a code challenge from now on, and say so unless they do already', () => {
    const open = { publicClient: true, secret: undefined };
    expect(movedClient(open).leftOut).toEqual([
      'sign-ins without PKCE of application web: public applications must send a code challenge',
    ]);
    const asking = (method: string) => ({ attributes: { 'pkce.code.challenge.method': method } });
    expect(movedClient({ ...open, ...asking('S256') }).leftOut).toEqual([]);
    const { application, leftOut } = movedClient(asking('plain'));
    expect(application).not.toHaveProperty('pkce');
    expect(leftOut).toEqual(['plain code challenges of application web: it must send them as S256']);
  });
});
