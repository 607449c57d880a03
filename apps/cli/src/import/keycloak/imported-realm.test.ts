import { describe, expect, it } from 'vitest';
import { CommandError } from '../../terminal.ts';
import { importedRealm } from './imported-realm.ts';

type Part = Readonly<Record<string, unknown>>;

const client = { clientId: 'web', secret: 's'.repeat(32), redirectUris: ['https://web.example/cb'] };

/** What comes of a realm that has no more than these. */
function moved(part: Part) {
  const text = JSON.stringify({ realm: 'Harbour Co', clients: [client], ...part });
  return importedRealm([{ name: 'realm.json', text }]);
}

function movedClient(part: Part) {
  const { records, leftOut } = moved({ clients: [{ ...client, ...part }] });
  return { application: records.applications[0], leftOut };
}

const mapper = (protocolMapper: string, config: Part) => ({ name: 'm', protocolMapper, config });

describe('a realm', () => {
  it('is a tenant by its name in the letters of a slug, with an owner of its own', () => {
    expect(moved({})).toMatchObject({
      tenant: 'harbour-co',
      tenantName: 'Harbour Co',
      owner: 'keycloak:harbour-co',
      leftOut: [],
    });
    expect(moved({ displayName: 'Harbour' }).tenantName).toBe('Harbour');
  });

  it('comes in one file or in several of one realm; anything else is refused without its content', () => {
    const users = { realm: 'Harbour Co', users: [{ username: 'ada' }] };
    const both = (second: unknown) =>
      importedRealm([
        { name: 'a', text: JSON.stringify({ realm: 'Harbour Co', clients: [client] }) },
        { name: 'b', text: JSON.stringify(second) },
      ]);
    expect(both(users).records.users).toMatchObject([{ username: 'ada' }]);
    expect(() => both({ ...users, realm: 'other' })).toThrow('The files are of several realms.');
    const noExport = 'x.json is no export of a realm of Keycloak';
    for (const [text, message] of [
      ['{"secret', 'x.json is not JSON, so it is no export of a realm of Keycloak.'],
      ['[]', `${noExport}.`],
      ['{"realm": 7}', `${noExport} (realm).`],
    ] as const)
      expect(() => importedRealm([{ name: 'x.json', text }])).toThrow(new CommandError(message));
    expect(() => importedRealm([{ name: 'x', text: '{"realm":"r"}' }])).toThrow('No file has the clients');
  });

  it('leaves identity providers and user federations out', () => {
    const { leftOut } = moved({
      identityProviders: [{ alias: 'github' }],
      components: { 'org.keycloak.storage.UserStorageProvider': [{ name: 'ldap' }] },
    });
    expect(leftOut).toEqual([
      'identity provider github: has no counterpart',
      'user federation ldap: has no counterpart; its people are not in the file',
    ]);
  });
});

describe('roles', () => {
  const realm = {
    defaultRole: { name: 'default-roles-harbour co' },
    roles: {
      realm: [
        { name: 'clerk' },
        { name: 'manager', composites: { realm: ['clerk'], client: { web: ['approve'] } } },
        { name: 'guest' },
        { name: 'default-roles-harbour co', composites: { realm: ['offline_access', 'guest'] } },
        { name: 'offline_access' },
      ],
      client: { web: [{ name: 'approve' }], account: [{ name: 'view-profile' }] },
    },
    groups: [
      {
        name: 'Staff',
        realmRoles: ['clerk'],
        subGroups: [{ name: 'Accounts', clientRoles: { web: ['approve'] } }],
      },
    ],
  };

  it('of clients have their names, and people have those of groups and composite roles one by one', () => {
    const { records, leftOut } = moved({
      ...realm,
      users: [
        { username: 'ada', groups: ['/Staff/Accounts'], credentials: [] },
        { username: 'bob', realmRoles: ['manager', 'default-roles-harbour co'] },
        { username: 'carol', clientRoles: { web: ['approve'], account: ['view-profile'] } },
        { username: 'dora' },
      ],
    });
    expect(records.roles).toEqual(['clerk', 'manager', 'guest', 'web:approve']);
    expect(records.users.map(({ roles }) => roles)).toEqual([
      ['clerk', 'web:approve'],
      ['clerk', 'manager', 'guest', 'web:approve'],
      ['web:approve'],
      [],
    ]);
    expect(leftOut.filter((line) => !line.startsWith('password'))).toEqual([
      'composition of role manager: people who have it get clerk, web:approve one by one',
      'group /Staff: has no counterpart; its members get its roles one by one',
      'group /Staff/Accounts: has no counterpart; its members get its roles one by one',
    ]);
  });

  it('that are composed of built-in roles promise none of them', () => {
    const boss = { name: 'boss', composites: { realm: ['clerk', 'tessera.administrator'] } };
    const auditor = { name: 'auditor', composites: { realm: ['tessera.auditor'] } };
    const { leftOut } = moved({ roles: { realm: [{ name: 'clerk' }, boss, auditor] } });
    expect(leftOut).toEqual(['composition of role boss: people who have it get clerk one by one']);
  });

  it('of a service account are left out with it', () => {
    const robot = { username: 'service-account-web', serviceAccountClientId: 'web', realmRoles: ['clerk'] };
    const { records, leftOut } = moved({ ...realm, groups: [], users: [robot] });
    expect(records.users).toEqual([]);
    expect(leftOut).toContain('roles clerk of application web: applications have none');
  });
});

describe('people', () => {
  it('of a user federation are named, as they sign in by another way here', () => {
    const { leftOut } = moved({ users: [{ username: 'ada', federationLink: 'a5f1-ldap' }] });
    expect(leftOut).toContain(
      'user federation of user ada: has no counterpart; they sign in with a password of their own',
    );
  });

  it('keep their names, addresses, attributes and identifier', () => {
    const { records } = moved({
      users: [
        {
          id: '9e1b',
          username: 'ada',
          email: 'ada@acme.example',
          emailVerified: true,
          firstName: 'Ada',
          lastName: 'Lovelace',
          enabled: false,
          attributes: { team: ['sea'], desks: ['1', '2'], none: [''], locale: ['sv'], street: ['Quay 1'] },
        },
      ],
    });
    expect(records.users).toEqual([
      {
        username: 'ada',
        email: 'ada@acme.example',
        emailVerified: true,
        name: 'Ada Lovelace',
        givenName: 'Ada',
        familyName: 'Lovelace',
        status: 'disabled',
        roles: [],
        locale: 'sv',
        address: { streetAddress: 'Quay 1' },
        attributes: { team: 'sea', desks: ['1', '2'], keycloakId: '9e1b' },
      },
    ]);
  });

  it('are disabled unless the file says that they are not, as Keycloak reads it', () => {
    const { records } = moved({
      users: [{ username: 'ada', enabled: true }, { username: 'bob', enabled: false }, { username: 'carol' }],
    });
    expect(records.users.map(({ status }) => status)).toEqual([undefined, 'disabled', 'disabled']);
  });

  it('lose second factors, other ways to sign in and required actions, each with a line', () => {
    const { leftOut } = moved({
      users: [
        {
          username: 'bob',
          credentials: [{ type: 'otp' }, { type: 'password' }],
          federatedIdentities: [{ identityProvider: 'github' }],
          requiredActions: ['UPDATE_PASSWORD'],
        },
        { username: 'dora' },
      ],
    });
    expect(leftOut).toEqual([
      'sign-in by github of user bob: has no counterpart',
      'UPDATE_PASSWORD of user bob: has no counterpart',
      'one-time password of user bob: has no counterpart; the password alone signs in',
      'password of user bob: is not in the file',
      'password of user dora: there is none in the file; they need a link to set one',
    ]);
  });
});

describe('client scopes', () => {
  it('with an audience are scopes of the resource of this audience; others are left out', () => {
    const audience = (name: string) => mapper('oidc-audience-mapper', { 'included.custom.audience': name });
    const { records, leftOut } = moved({
      clientScopes: [
        { name: 'orders.read', description: 'Read', protocolMappers: [audience('urn:orders')] },
        { name: 'orders.write', protocolMappers: [audience('urn:orders'), audience('urn:other')] },
        { name: 'plain' },
        { name: 'roles' },
      ],
      clients: [
        {
          ...client,
          defaultClientScopes: ['email', 'roles', 'plain'],
          optionalClientScopes: ['orders.read'],
        },
      ],
    });
    expect(records.resources).toEqual([
      {
        audience: 'urn:orders',
        name: 'urn:orders',
        scopes: [{ name: 'orders.read', description: 'Read' }, { name: 'orders.write' }],
        scopeFormat: 'string',
      },
    ]);
    expect(records.applications[0]?.['scopes']).toEqual(['openid', 'email', 'orders.read']);
    expect(leftOut).toEqual([
      'audience urn:other of scope orders.write: a scope belongs to one audience',
      'client scope plain: it names no audience, to which a scope belongs',
    ]);
  });
});

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
      lifetimes: { accessToken: 600 },
      claims: {
        keycloak_id: { attribute: 'keycloakId', targets: ['idToken', 'accessToken', 'userinfo'] },
      },
      secrets: [{ value: client.secret }],
    });
    expect(leftOut).toEqual([]);
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
    [{ secret: '**********' }, 'its secret is not in the file; export with kc.sh'],
    [{ standardFlowEnabled: false }, 'no grant is left'],
  ])('with %j are left out: %s', (part, reason) => {
    expect(movedClient(part)).toEqual({ application: undefined, leftOut: [`application web: ${reason}`] });
  });

  it('that are public must send a code challenge from now on, and say so unless they do already', () => {
    const open = { publicClient: true, secret: undefined };
    expect(movedClient(open).leftOut).toEqual([
      'sign-ins without PKCE of application web: public applications must send a code challenge',
    ]);
    expect(movedClient({ ...open, attributes: { 'pkce.code.challenge.method': 'S256' } }).leftOut).toEqual(
      [],
    );
  });

  it('map attributes and roles to claims; objects and other mappers are left out', () => {
    const here = { 'id.token.claim': 'true', 'access.token.claim': 'false' };
    const { application, leftOut } = movedClient({
      protocolMappers: [
        mapper('oidc-usermodel-attribute-mapper', {
          ...here,
          'user.attribute': 'team',
          'claim.name': 'https://acme\\.example/team',
        }),
        mapper('oidc-usermodel-realm-role-mapper', { ...here, 'claim.name': 'groups' }),
        mapper('oidc-usermodel-realm-role-mapper', { ...here, 'claim.name': 'realm_access.roles' }),
        mapper('oidc-hardcoded-claim-mapper', here),
        mapper('oidc-audience-mapper', here),
        mapper('oidc-usermodel-attribute-mapper', { 'user.attribute': 'x', 'claim.name': 'x' }),
        mapper('oidc-acr-mapper', here),
      ],
    });
    expect(application?.['claims']).toMatchObject({
      'https://acme.example/team': { attribute: 'team', targets: ['idToken'] },
      groups: { roles: true, targets: ['idToken'] },
    });
    expect(leftOut).toEqual(
      [
        'claims in objects have no counterpart',
        'oidc-hardcoded-claim-mapper has no counterpart',
        'audiences come with scopes; give a client scope this mapper',
        'it sets a claim nowhere',
      ].map((problem) => `mapper m of application web: ${problem}`),
    );
  });
});
