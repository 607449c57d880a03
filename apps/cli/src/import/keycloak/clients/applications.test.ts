import { describe, expect, it } from 'vitest';
import { endOfShortSecrets } from '../realm/imported-secrets.ts';
import { client, moved, movedClient, type Part } from '../../../testing/moved-realm.ts';

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
        'token exchange',
        'authorization services',
        'front-channel logout',
      ].map((what) => `${what} of application web: has no counterpart`),
    ]);
  });

  it.each([[{ bearerOnly: true }], [{ standardFlowEnabled: false }]])(
    'that ask for no tokens are APIs: %j',
    (part) => {
      const { records } = moved({ clients: [{ ...client, ...part }] });
      expect(records).toMatchObject({ applications: [], resources: [{ audience: 'web', name: 'web' }] });
    },
  );

  it.each([
    [{ protocol: 'saml' }, 'SAML has no counterpart'],
    [{ bearerOnly: true }, 'an API is no application; it comes as the resource of its name'],
  ])('with %j are left out: %s', (part, reason) => {
    expect(movedClient(part)).toMatchObject({
      application: undefined,
      leftOut: [`application web: ${reason}`],
    });
  });

  it('that authenticate otherwise than by a secret come disabled, and need one', () => {
    const { application, disabledFor, lacksSecret } = movedClient({ clientAuthenticatorType: 'client-jwt' });
    expect(application).toMatchObject({ type: 'confidential', status: 'disabled' });
    expect(application).not.toHaveProperty('secrets');
    expect(disabledFor).toEqual(['there is no counterpart of client-jwt in place of a secret']);
    expect(lacksSecret).toBe('it authenticated by client-jwt');
  });

  it.each([
    ['**********', 'its own is not in the file'],
    [undefined, 'its own is not in the file'],
    ['$(env:SECRET_OF_THE_WEB_APPLICATION_OF_HARBOUR)', 'its own is not in the file'],
    ['${SECRET_OF_THE_WEB_APPLICATION_OF_HARBOUR}', 'its own is not in the file'],
    ['short', 'its own has fewer than 32 characters'],
    ['ü'.repeat(32), 'its own is not printable ASCII of at most 256 characters'],
    ['x'.repeat(257), 'its own is not printable ASCII of at most 256 characters'],
  ])('with the secret %j need a new one', (secret, why) => {
    const { application, leftOut, disabledFor, lacksSecret } = movedClient({ secret });
    expect(application).not.toHaveProperty('status');
    expect(application).not.toHaveProperty('secrets');
    expect([lacksSecret, leftOut, disabledFor]).toEqual([why, [], []]);
  });

  it('keep a short secret until a day, if they are told so', () => {
    const keptUntil = '2027-01-31T00:00:00.000Z';
    const { application, what, lacksSecret } = movedClient({ secret: 'short' }, { keptUntil });
    expect(application).toMatchObject({ secrets: [{ value: 'short', expiresAt: keptUntil }] });
    expect(what).toEqual([`replace its short secret, which ends at ${keptUntil}`]);
    expect(lacksSecret).toBeUndefined();
    const earlier = { secret: 'short', attributes: { 'client.secret.expiration.time': '1800000000' } };
    expect(movedClient(earlier, { keptUntil }).application).toMatchObject({
      secrets: [{ expiresAt: '2027-01-15T08:00:00.000Z' }],
    });
    const long = movedClient({}, { keptUntil });
    expect(long.application).toMatchObject({ secrets: [{ value: client.secret }] });
    expect(long.what).toEqual([]);
  });

  it('keep short secrets for 90 days at most', () => {
    const now = Date.UTC(2026, 0, 1);
    expect(endOfShortSecrets(new Date('2026-04-01T00:00:00Z'), now)).toBe('2026-04-01T00:00:00.000Z');
    for (const time of ['2026-04-01T00:00:01Z', '2026-01-01T00:00:00Z', '2025-12-31T00:00:00Z'])
      expect(() => endOfShortSecrets(new Date(time), now)).toThrow('within the next 90 days');
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
      const { application, lacksSecret } = movedClient({
        attributes: { 'client.secret.expiration.time': time },
      });
      expect(application).not.toHaveProperty('secrets');
      expect(lacksSecret).toBe('the end of its own is no time');
    },
  );

  it('without an exact redirect URI come disabled, to be given some, unless they have another grant', () => {
    const redirectUris = ['', '*', 'https://web.example/*', 'http://web.example/cb'];
    const { application, leftOut, disabledFor } = movedClient({ redirectUris });
    expect(application).toMatchObject({ status: 'disabled', grantTypes: ['refresh_token'] });
    expect(application).not.toHaveProperty('redirectUris');
    expect(leftOut).toEqual([
      'redirect URI * of application web: wildcards are refused',
      'redirect URI https://web.example/* of application web: wildcards are refused',
      expect.stringMatching(/^redirect URI http:\/\/web.example\/cb of application web: .*https/),
    ]);
    expect(disabledFor).toEqual([
      expect.stringMatching(/^no exact redirect URI is left; say them with --red/),
    ]);
    const service = movedClient({ redirectUris, serviceAccountsEnabled: true });
    expect(service.application).toMatchObject({ grantTypes: ['client_credentials'] });
    expect(service.application).not.toHaveProperty('status');
    expect(service.what).toEqual([expect.stringMatching(/^signs nobody in by redirect: no exact/)]);
  });

  it.each([
    [
      { implicitFlowEnabled: true },
      ['authorization_code', 'refresh_token'],
      /implicit flow.*let it use codes$/,
    ],
    [{ directAccessGrantsEnabled: true }, ['refresh_token'], /password grant.*give it redirect URIs/],
  ])('with nothing but %j come disabled, to be changed', (flow, grantTypes, reason) => {
    const { application, disabledFor, leftOut } = movedClient({ standardFlowEnabled: false, ...flow });
    expect(application).toMatchObject({ status: 'disabled', grantTypes });
    expect([disabledFor, leftOut]).toEqual([[expect.stringMatching(reason)], []]);
  });

  it('with CIBA have their requests approved at the page (CIBA Core §5)', () => {
    const ciba = { 'oidc.ciba.grant.enabled': 'true' };
    const { application, what, leftOut } = movedClient({
      standardFlowEnabled: false,
      attributes: { ...ciba, 'ciba.backchannel.token.delivery.mode': 'ping' },
    });
    expect(application).toMatchObject({ grantTypes: ['refresh_token', 'ciba'], ciba: { approval: 'page' } });
    expect(what).toEqual(['its backchannel requests (CIBA) are approved at /approvals']);
    expect(leftOut).toEqual(['notification by CIBA ping of application web: has no counterpart']);
    const open = movedClient({ publicClient: true, attributes: ciba });
    expect(open.application).not.toHaveProperty('ciba');
    expect(open.leftOut).toEqual([expect.stringMatching(/^CIBA of a public client/)]);
  });

  it('that are public must send a code challenge from now on, which is to do unless they do already', () => {
    const open = { publicClient: true, secret: undefined };
    expect(movedClient(open)).toMatchObject({
      leftOut: [],
      what: ['must send a code challenge (PKCE, S256), as it is public'],
    });
    const asking = (method: string) => ({ attributes: { 'pkce.code.challenge.method': method } });
    expect(movedClient({ ...open, ...asking('S256') })).toMatchObject({ leftOut: [], what: [] });
    const { application, what } = movedClient(asking('plain'));
    expect(application).not.toHaveProperty('pkce');
    expect(what).toEqual(['must send its code challenges as S256, no longer plain']);
  });
});
