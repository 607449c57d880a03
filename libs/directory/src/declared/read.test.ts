import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { DeclaredStateError } from './declared-state-error.ts';
import { readDeclaredState } from './read.ts';
import { resolveDeclaredState } from './resolve.ts';

const read = (text: string) => readDeclaredState(text, 'state.yaml', 8);

/** Every line of the message, without the file's name. */
function mistakes(text: string): string[] {
  try {
    read(text);
    return [];
  } catch (error) {
    if (!(error instanceof DeclaredStateError)) throw error;
    return error.message.split('\n').map((line) => line.replace(/^state\.yaml:/, ''));
  }
}

function tenant(...lines: string[]): string {
  return ['tenants:', '  - id: acme', '    name: Acme', ...lines.map((line) => `    ${line}`)].join('\n');
}

/** An application from line 5 on, with one key replaced or added. */
function application(key: string, value: string): string {
  const keys: Record<string, string> = {
    clientId: 'acme-web',
    name: 'Acme Web',
    type: 'public',
    grantTypes: '[authorization_code]',
    redirectUris: '[https://acme.example/callback]',
    [key]: value,
  };
  const lines = Object.entries(keys).map(([name, text]) => `    ${name}: ${text}`);
  return tenant('applications:', '  -', ...lines);
}

describe('a declared state', () => {
  it('may be the demo file', () => {
    const demo = new URL('../../../../deploy/demo/tessera.yaml', import.meta.url);
    const { state } = read(readFileSync(demo, 'utf8'));
    expect(state.tenants.map(({ id, applications }) => [id, applications.length])).toEqual([
      ['demo', 4],
      ['demo-two', 1],
    ]);
  });

  it('may be the example of docs/integrating.md', async () => {
    const document = readFileSync(new URL('../../../../docs/integrating.md', import.meta.url), 'utf8');
    const [, example = ''] = /^```yaml\n([^]*?)^```$/m.exec(document) ?? [];
    const secrets = { environment: {}, readFile: () => 'x'.repeat(43) };
    const { state } = read(await resolveDeclaredState(example, 'state.yaml', secrets));
    expect(state.tenants[0]?.applications).toMatchObject([{ clientId: 'acme-web', type: 'confidential' }]);
  });

  it('may be JSON, with the places of its mistakes, and no key twice', async () => {
    const user = { username: 'ada', attributes: { team: 'a\u2028b "c"' } };
    const json = (given: object) =>
      JSON.stringify({ tenants: [{ id: 'acme', name: 'Acme', users: [given] }] });
    expect(read(json(user)).state).toEqual(read(stringify(JSON.parse(json(user)))).state);
    expect(mistakes(json({ ...user, email: 'none' }))).toEqual([
      expect.stringMatching(/^1:\d\d+: tenants\[0\].users\[0\].email: /),
    ]);
    const twice = json(user).replace(
      '"username":"ada"',
      '"status":"disabled","username":"ada","status":"active"',
    );
    expect(mistakes(twice)).toEqual([expect.stringMatching(/^1:\d\d+:.* a key occurs twice in one place$/)]);
    const referring = json({ username: 'ada', passwordFromEnv: 'ADA' });
    const secrets = { environment: { ADA: 'correct horse battery' }, readFile: () => '' };
    const resolved = await resolveDeclaredState(referring, 'state.yaml', secrets);
    expect(read(resolved).state.tenants[0]?.users[0]?.password).toBe('correct horse battery');
  });

  it('may have every key of the format', () => {
    const { state } = read(
      tenant(
        'status: active',
        'issuer: https://login.acme.example',
        'resources:',
        '  - audience: https://orders.acme.example',
        '    name: Orders API',
        '    shared: true',
        '    scopes: [orders.read, { name: orders.write, description: Change orders }]',
        '    tokenType: JWT',
        '    scopeFormat: string',
        '    signingAlgorithm: ES256',
        '    roles: [clerk, tessera.auditor]',
        'roles: [clerk]',
        'providers:',
        '  - { name: work, preset: entra, issuer: https://login.microsoftonline.com/acme/v2.0, clientId: tessera,',
        '      clientSecret: of the client, displayName: Work, scopes: [openid, email], domains: [acme.example],',
        '      linking: verified-email, createsAccounts: true }',
        'users:',
        '  - { username: ada, email: ada@acme.example, name: Ada, phoneNumber: "+46701234567", roles: [clerk],',
        '      status: locked, password: correct horse battery staple,',
        '      preferredUsername: ada, givenName: Ada, familyName: Lovelace, middleName: King, nickname: Enchantress,',
        '      emailVerified: true, phoneNumberVerified: false, locale: en-GB, zoneinfo: Europe/London, gender: female,',
        '      picture: https://acme.example/ada.png, profile: https://acme.example/ada, website: http://ada.example,',
        '      birthdate: "1985-12-10", address: { formatted: "12 St James\\nLondon", streetAddress: 12 St James,',
        '      locality: London, region: London, postalCode: "SW1", country: GB },',
        '      attributes: { department: Engines, teams: [one, two] } }',
        'applications:',
        '  - clientId: acme-web',
        '    name: Acme Web',
        '    type: confidential',
        '    status: disabled',
        '    secrets:',
        '      - { value: at-least-32-characters-of-secret-here, expiresAt: "2030-01-31T12:00:00Z" }',
        '    grantTypes: [authorization_code, refresh_token, client_credentials, device_code, ciba]',
        '    redirectUris: [http://localhost:9000/callback]',
        '    logoutRedirectUris: [http://localhost:9000/]',
        '    scopes: [openid, profile, address, offline_access, orders.read]',
        '    introspectAudiences: [https://orders.acme.example]',
        '    lifetimes: { accessToken: 1d, refreshTokenIdle: 30d, idToken: 600, authorizationRequest: 1h, authorizationCode: 30s, pollInterval: 10s }',
        '    ciba: { approval: webhook, url: https://acme.example/approvals, delivery: ping,',
        '      notificationEndpoint: https://acme.example/notifications }',
        '    authenticatedStart: optional',
        '    allowedRoles: [clerk]',
        '    pkce: optional',
        '    backchannelLogoutUri: https://acme.example/backchannel-logout',
        '    backchannelLogoutSessionRequired: true',
        '    idTokenClaims: [profile, address]',
        '    loopbackPorts: any',
        '    roles: [clerk]',
        '    claims:',
        '      groups: { roles: true, targets: [idToken] }',
        '      https://acme.example/department: { attribute: department, targets: [accessToken, userinfo] }',
      ),
    );
    expect(state.tenants[0]?.applications[0]).toMatchObject({
      lifetimes: {
        accessToken: 86_400,
        refreshTokenIdle: 2_592_000,
        idToken: 600,
        authorizationRequest: 3600,
        authorizationCode: 30,
        pollInterval: 10,
      },
      secrets: [{ expiresAt: Date.UTC(2030, 0, 31, 12) }],
      ciba: { delivery: 'ping', notificationEndpoint: 'https://acme.example/notifications' },
      authenticatedStart: 'optional',
      allowedRoles: ['clerk'],
      pkce: 'optional',
      backchannelLogoutUri: 'https://acme.example/backchannel-logout',
      backchannelLogoutSessionRequired: true,
      idTokenClaims: ['profile', 'address'],
      loopbackPorts: 'any',
      roles: ['clerk'],
      claims: {
        groups: { roles: true, targets: ['idToken'] },
        'https://acme.example/department': { attribute: 'department', targets: ['accessToken', 'userinfo'] },
      },
    });
  });

  it.each([
    'https://login.acme.example',
    'https://login.acme.example:8443',
    'https://id.example/t/acme',
    'https://id.example/T/acme.com_2-b',
    'https://id.example/tokens',
    'https://id.example/auth/acme',
    'http://localhost:8080/t/acme',
  ])('may give a tenant the issuer %s', (issuer) => {
    const { state } = read(tenant(`issuer: ${issuer}`));
    expect(state.tenants[0]?.issuer).toBe(issuer);
  });

  it.each([
    ['login.acme.example', 'https URL'],
    ['com.example.app:/x', 'https URL'],
    ['http://login.acme.example', 'https'],
    ['https://login.acme.example/', 'slash'],
    ['https://id.example/t/acme/', 'slash'],
    ['https://id.example/t?tenant=acme', 'query'],
    ['"https://id.example/t#acme"', 'fragment'],
    ['https://ID.example/t/acme', 'lower case'],
    ['https://id.example:443/t/acme', 'port'],
    ['https://user@id.example/t', 'user'],
    ['https://id.example/t//acme', 'path'],
    ['https://id.example/t/%61', 'percent'],
    ['https://id.example/t/a%20b', 'path'],
    ['https://id.example/t/../acme', 'segments'],
    ['https://id.example/.well-known/acme', 'path'],
    ['https://id.example/a/b/c/d/e', 'path'],
    ['https://id.example/assets', 'must not have the path /assets'],
    ['https://id.example/assets/acme', 'must not have the path'],
    ['https://id.example/auth', 'must not have the path'],
    ['https://id.example/auth/verify', 'must not have the path'],
    ['https://id.example/token', 'must not have the path'],
    ['https://login.acme.example/approvals', 'must not have the path'],
    ['https://id.example/readyz', 'must not have the path'],
  ])('may not give a tenant the issuer %s', (issuer, reason) => {
    expect(() => read(tenant(`issuer: ${issuer}`))).toThrow(new RegExp(`tenants\\[0\\].issuer: .*${reason}`));
  });

  it('may not give two tenants issuers that differ only in scheme', () => {
    const text = (scheme: string) => tenant(`issuer: ${scheme}://localhost/t`);
    const both = text('http') + text('https').replace('tenants:', '').replace('acme', 'globex');
    expect(() => read(both)).toThrow(/tenants\[1\].issuer: is declared twice/);
  });

  describe('with one audience at two tenants', () => {
    const state = (first: string, second: string) => {
      const resources = (keys: string) => `resources: [{ audience: https://api.example, name: API${keys} }]`;
      const other = tenant(resources(second)).replace('tenants:', '').replace('acme', 'globex');
      return () => read(tenant(resources(first)) + other);
    };

    it.each([
      ['', ''],
      [', shared: true', ''],
      ['', ', shared: true'],
    ])('is refused unless both say that it is shared: %s and %s', (first, second) => {
      expect(state(first, second)).toThrow(
        /tenants\[1\].resources\[0\].audience: is declared by another tenant of the same issuer; say "shared: true"/,
      );
    });

    it('is accepted if both share it, and if one has an issuer of its own', () => {
      expect(state(', shared: true', ', shared: true')).not.toThrow();
      expect(state('', ' }]\n    issuer: https://login.globex.example #')).not.toThrow();
    });
  });

  it('reports all mistakes at once, with file, line and key', () => {
    const text = tenant(
      'colour: red',
      'users:',
      '  - username: ada',
      '    email: nowhere',
      '    phoneNumber: +46701234567',
      '    rolls: [clerk]',
      '  - email: bob@acme.example',
    );
    expect(mistakes(text).toSorted()).toEqual(
      [
        '4:5: tenants[0].colour: is not a known key',
        '7:9: tenants[0].users[0].email: must be an e-mail address',
        '8:9: tenants[0].users[0].phoneNumber: must be text; put it in quotes',
        '9:9: tenants[0].users[0].rolls: is not a known key',
        '10:9: tenants[0].users[1].username: is required',
      ].toSorted(),
    );
  });

  it('reports rule violations and malformed entries, each at its own line', () => {
    const text = tenant(
      'roles: [clerk, clerk]',
      'users:',
      '  - { username: ada, email: nowhere }',
      '  - { username: bob, roles: [boss] }',
      'applications:',
      '  - { clientId: "?", name: A, type: public, grantTypes: [ciba] }',
      '  - { clientId: b, name: B, type: confidential, grantTypes: [ciba] }',
    );
    const malformedTenant = `${text}\n  - { id: Globex, name: Globex }\n  - { id: acme, name: Again }`;
    expect(mistakes(malformedTenant).map((mistake) => mistake.replace(/^\d+:\d+: /, ''))).toEqual([
      'tenants[0].users[0].email: must be an e-mail address',
      expect.stringMatching(/^tenants\[0\]\.applications\[0\]\.clientId: must consist of/),
      expect.stringMatching(/^tenants\[1\]\.id: must be a slug/),
      'tenants[2].id: is declared twice',
      'tenants[0].roles[1]: is declared twice',
      expect.stringMatching(/^tenants\[0\]\.users\[1\]\.roles\[0\]: is not/),
    ]);
  });

  it('reports what is wrong with the rest of a tenant, and a weak password, beside malformed keys and records', () => {
    const text = tenant(
      'name2: Acme',
      'issuer: nowhere',
      'resources:',
      '  - { audience: a, name: A, scopes: [a.read, a.read] }',
      '  - { audience: b, scopes: [b.read] }',
      'roles: [clerk, 7]',
      'users:',
      '  - { username: ada, password: short, roles: [boss] }',
      '  - { username: ADA, email: nowhere }',
      '  - { username: Ada }',
      'applications:',
      '  - { clientId: w, name: W, type: public, grantTypes: [authorization_code], scopes: [a.read, b.read, openid, openid] }',
    );
    const found = mistakes(text).map((mistake) => mistake.replace(/^\d+:\d+: tenants\[0\]\./, ''));
    expect(found.toSorted()).toEqual(
      [
        'applications[0].redirectUris: the authorization_code grant needs a redirect URI',
        'applications[0].scopes[3]: is listed twice',
        'issuer: must be an https URL such as https://id.example/t/acme',
        'name2: is not a known key',
        'resources[0].scopes[1]: is declared twice; a scope belongs to exactly one resource of its tenant',
        'resources[1].name: is required',
        'roles[1]: must be text; put it in quotes',
        'users[0].password: must have at least 8 characters',
        'users[1].email: must be an e-mail address',
        'users[2]: shares a user name, e-mail address or phone number with another user of the tenant',
      ].toSorted(),
    );
  });

  it('is told nothing of what depends on a malformed name', () => {
    const text = ['tenants:', '  - { id: acme, name: [Acme], status: active, roles: [a, a] }'].join('\n');
    expect(mistakes(text).map((mistake) => mistake.replace(/^\d+:\d+: /, ''))).toEqual([
      'tenants[0].name: must be text; put it in quotes',
      'tenants[0].roles[1]: is declared twice',
    ]);
  });

  it('that only refers to its tenant may use the scopes of an API that it adds', () => {
    const lines = [
      'tenants:',
      '  - id: acme',
      '    resources: [{ audience: a, name: A, scopes: [a.read] }]',
      '    applications: [{ clientId: w, name: W, type: public, grantTypes: [device_code], scopes: [a.read, b.read] }]',
    ];
    expect(mistakes(lines.join('\n'))).toEqual([]);
  });

  it.each([
    ['', '1:1: must be a set of keys'],
    ['{}', '1:1: tenants: is required'],
    ['[]', /must be a set of keys$/],
    ['tenants: {}', '1:1: tenants: must be a list'],
    ['tenants: []\ntenants: []', /2:1: a key occurs twice in one place/],
    ['tenants: []\n---\ntenants: []', /must be one YAML document/],
    ['tenants:\n\t- id: acme', /2:1: .*/],
  ])('has one root key: %j is refused', (text, expected) => {
    expect(mistakes(text)[0]).toMatch(expected);
  });

  it('is never quoted by value in a message', () => {
    const secret = 'hunter2hunter2';
    const texts = [
      tenant('users:', `  - { username: ada, password: *${secret} }`),
      tenant('users:', `  - { username: ada, password: "${secret}, }`),
      tenant('users:', `  - { username: ada, password: [${secret}] }`),
      tenant('users:', `  - { username: ada, passwordHash: ${secret} }`),
      tenant('users:', `  - { username: ada, password: !${secret} x }`),
      application('secrets', `[{ value: ${secret} }]`),
    ];
    for (const text of texts) {
      expect(mistakes(text).length).toBeGreaterThan(0);
      expect(mistakes(text).join('\n')).not.toContain(secret);
    }
  });

  it('cannot be inflated with aliases', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (const [index, name] of [...'bcdefgh'].entries()) {
      const of = `*${'abcdefgh'.charAt(index)}`;
      bomb.push(`${name}: &${name} [${Array(8).fill(of).join(', ')}]`);
    }
    expect(mistakes(bomb.join('\n')).join()).toMatch(/aliases that cannot be resolved/);
  });
});

describe('a declared resource with tokenType JWT', () => {
  it('cannot have the client id of any tenant as audience, as its tokens could pass for ID tokens', () => {
    const text = tenant(
      'resources:',
      '  - { audience: globex-web, name: API, tokenType: JWT }',
      '  - { audience: globex-tv, name: API }',
    );
    const other = ['globex-web', 'globex-tv'].map(
      (id) => `      - { clientId: ${id}, name: G, type: public, grantTypes: [device_code] }`,
    );
    const both = [text, '  - id: globex', '    name: Globex', '    applications:', ...other].join('\n');
    expect(mistakes(both).map((mistake) => mistake.replace(/^\d+:\d+: /, ''))).toEqual([
      'tenants[1].applications[0].clientId: is both a client id and the audience of a resource with tokenType JWT; its access tokens could pass for ID tokens',
    ]);
  });
});

describe('attributes and mapped claims', () => {
  const user = (attributes: string) => tenant('users:', `  - { username: ada, attributes: ${attributes} }`);
  const many = (count: number, value: string) =>
    `{ ${Array.from({ length: count }, (_, index) => `a${index}: ${value}`).join(', ')} }`;

  it.each([
    ['{ "1st": x }', /attributes\.1st: must be at most 64 letters, digits/],
    ['{ level: 7 }', /attributes\.level: must be text or a list of texts/],
    ['{ teams: [] }', /attributes\.teams: /],
    [many(51, 'x'), /attributes: must be at most 50/],
    [many(5, 'x'.repeat(1000)), /attributes: must be at most 4096 bytes together/],
  ])('are refused as %s', (attributes, expected) => {
    expect(mistakes(user(attributes)).join('\n')).toMatch(expected);
  });

  it.each([
    ['{ sub: { attribute: department, targets: [idToken] } }', /claims\.sub: is a claim of the protocol/],
    ['{ email: { attribute: mail, targets: [idToken] } }', /claims\.email: is a standard claim/],
    ['{ "a b": { roles: true, targets: [idToken] } }', /claims\.a b: must be at most 128 characters/],
    ['{ groups: { roles: true, targets: [] } }', /groups\.targets: must have at least 1 entry/],
    ['{ groups: { roles: true, targets: [header] } }', /groups\.targets\[0\]: must be one of idToken, /],
    ['{ groups: { targets: [idToken] } }', /claims\.groups: needs one source: attribute or roles/],
    ['{ groups: { roles: true, attribute: a, targets: [idToken] } }', /groups: needs one source/],
    ['{ a: { attribute: a, rolePrefix: x, targets: [idToken] } }', /claims\.a\.rolePrefix: is for roles/],
    ['{ a: { roles: true, type: number, targets: [idToken] } }', /claims\.a\.type: is for attributes/],
    ['{ a: { roles: true, path: [a], targets: [idToken] } }', /claims\.a\.path: /],
    [
      '{ a: { roles: true, path: [sub, a], targets: [idToken] } }',
      /claims\.a\.path\S*: is a claim of the protocol/,
    ],
    [
      '{ a: { attribute: a, targets: [idToken] }, b: { roles: true, path: [a, b], targets: [idToken] } }',
      /claims\.b: has the path of another claim, or one above or below it/,
    ],
    [
      '{ a: { attribute: x, targets: [idToken] }, b: { attribute: x, targets: [idToken] }, c: { attribute: x, targets: [idToken] } }',
      /claims\.c: is one of more than 2 claims of its source/,
    ],
  ])('are refused at an application as %s', (claims, expected) => {
    expect(mistakes(application('claims', claims)).join('\n')).toMatch(expected);
  });
});

describe('the standard claims of a user', () => {
  const user = (claim: string) => tenant('users:', `  - { username: ada, ${claim} }`);

  it.each([
    ['locale: en_GB', /locale: must be a language tag such as/],
    ['zoneinfo: Mars/Olympus', /zoneinfo: must be a time zone such as/],
    ['zoneinfo: "+01:00"', /zoneinfo: must be a time zone such as/],
    ['picture: ada.png', /picture: must be an absolute http or https URL/],
    ['website: "javascript:alert(1)"', /website: must be an absolute http or https URL/],
    ['birthdate: "1985-02-30"', /birthdate: must be a date such as/],
    ['birthdate: 1985', /birthdate: must be text; put it in quotes/],
    ['emailVerified: yes please', /emailVerified: must be true or false/],
    ['emailVerified: true', /emailVerified: needs an email/],
    ['phoneNumberVerified: true', /phoneNumberVerified: needs a phoneNumber/],
    ['address: {}', /address: must have at least one part/],
    ['address: { street: x }', /address\.street: is not a known key/],
    ['updatedAt: 1', /updatedAt: is not a known key/],
  ])('are refused as %s', (claim, expected) => {
    expect(mistakes(user(claim)).join('\n')).toMatch(expected);
  });

  it.each(['"0000-02-29"', '"1985"', '"1985-12-10"'])('take the birthdate %s (OIDC Core §5.1)', (date) => {
    expect(mistakes(user(`birthdate: ${date}`))).toEqual([]);
  });
});

function daysFromNow(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}

describe('a declared application', () => {
  it.each([
    ['keycloak', '[account]', ''],
    ['keycloak', '[account, account]', 'audiences[1]: is listed twice'],
    ['keycloak', '[https://a.example]', 'audiences[0]: is a resource that limits roles'],
    ['keycloak', '[https://b.example]', ''],
    ['keycloak', '["urn:tessera:admin"]', 'audiences[0]: is built in'],
    ['keycloak', '["urn:tessera:admin:*"]', 'audiences[0]: is built in'],
    ['standard', '[]', 'defaultScopes: belong to several resources, of which a token has one'],
  ])(
    'of a tenant with endpoints: %s may have the audiences %s but for: %j',
    (endpoints, audiences, problem) => {
      const text = tenant(
        `endpoints: ${endpoints}`,
        'roles: [clerk]',
        'resources:',
        '  - { audience: https://a.example, name: A, scopes: [a], roles: [clerk] }',
        '  - { audience: https://b.example, name: B, scopes: [b] }',
        '  - { audience: https://c.example, name: C, scopes: [c] }',
        'applications:',
        '  - { clientId: acme-web, name: Web, type: public, grantTypes: [device_code], scopes: [b, c],',
        `      defaultScopes: [b, c], audiences: ${audiences} }`,
      );
      const found = mistakes(text).join('\n');
      expect(problem === '' ? found : found.includes(problem) || found).toBe(problem === '' ? '' : true);
    },
  );

  it.each([
    ['type', 'secret', /type: must be one of public, confidential/],
    [
      'secrets',
      '[{ value: at-least-32-characters-of-secret-here }]',
      /secrets: a public application has no secret/,
    ],
    ['grantTypes', '[password]', /grantTypes\[0\]: must be one of authorization_code, /],
    ['grantTypes', '[]', /grantTypes: must have at least 1 entry/],
    ['grantTypes', '[client_credentials]', /grantTypes\[0\]: is for confidential applications only/],
    ['redirectUris', '[]', /redirectUris: the authorization_code grant needs a redirect URI/],
    ['redirectUris', '["https://acme.example/#x"]', /redirectUris\[0\]: must not have a fragment/],
    ['redirectUris', '["javascript:alert(1)"]', /redirectUris\[0\]: .*scheme/],
    ['redirectUriPrefixes', '["https://acme.example"]', /redirectUriPrefixes\[0\]: must end with a slash/],
    [
      'redirectUriPrefixes',
      '["https://acme.example/*"]',
      /redirectUriPrefixes\[0\]: must not have a wildcard/,
    ],
    ['redirectUriPrefixes', '["https://acme.example/", "https://acme.example/"]', /\[1\]: is listed twice/],
    ['logoutRedirectUriPrefixes', '["http://acme.example/"]', /logoutRedirectUriPrefixes\[0\]: .*use https/],
    ['logoutRedirectUris', '["http://acme.example/"]', /logoutRedirectUris\[0\]: .*use https/],
    ['clientId', 'usr_AAAAAAAAAAAAAAAAAAAAAA', /clientId: must not begin with usr_/],
    ['clientId', '"a b"', /clientId: must consist of/],
    ['scopes', '[orders.read]', /scopes\[0\]: is neither built in nor a scope/],
    ['scopes', '[tokens.introspect]', /scopes\[0\]: is for applications with the client_credentials grant/],
    ['scopes', '[openid, openid]', /scopes\[1\]: is listed twice/],
    ['defaultScopes', '[profile]', /defaultScopes\[0\]: is not among the scopes/],
    [
      'scopes',
      '[offline_access]\n        defaultScopes: [offline_access]',
      /defaultScopes\[0\]: is given only to who asks for it/,
    ],
    [
      'scopes',
      '[admin.users.read]\n        defaultScopes: [admin.users.read]',
      /defaultScopes\[0\]: is given only to who asks for it/,
    ],
    ['scopes', '[openid]\n        defaultScopes: [openid, openid]', /defaultScopes\[1\]: is listed twice/],
    ['audiences', '[account]', /audiences: is for applications of a tenant with endpoints: keycloak/],
    ['audiences', '["urn:tessera:admin"]', /audiences\[0\]: is built in and may not be declared/],
    ['audiences', '[a b]', /audiences\[0\]: must be printable ASCII without spaces/],
    ['introspectAudiences', '[https://x.example]', /introspectAudiences\[0\]: is not the audience/],
    ['lifetimes', '{ accessToken: soon }', /lifetimes.accessToken: must be a duration/],
    [
      'lifetimes',
      '{ accessToken: 25h }',
      /lifetimes.accessToken: must be at most 1d, so that no token outlives/,
    ],
    ['lifetimes', '{ idToken: 86401 }', /lifetimes.idToken: must be at most 1d, so that no token outlives/],
    ['lifetimes', '{ authorizationRequest: 61m }', /lifetimes.authorizationRequest: must be at most 1h$/m],
    ['lifetimes', '{ authorizationCode: 11m }', /lifetimes.authorizationCode: must be at most 10m$/m],
    ['lifetimes', '{ pollInterval: 61s }', /lifetimes.pollInterval: must be at most 60s$/m],
    ['lifetimes', '{ refreshTokenIdle: 3651d }', /lifetimes.refreshTokenIdle: must be at most 3650d/],
    ['lifetimes', '{ accessToken: 500ms }', /lifetimes.accessToken: must be a duration/],
    ['ciba', '{ approval: webhook }', /ciba.url: is required/],
    ['ciba', '{ approval: page, url: https://x.example/ }', /ciba.url: is for webhooks only/],
    ['ciba', '{ approval: webhook, url: "ftp://x.example/" }', /ciba.url: must be an https URL/],
    [
      'ciba',
      '{ approval: webhook, url: https://x.example/ }\n        authenticationPolicy: second-factor',
      /authenticationPolicy: must be any where a webhook approves/,
    ],
    ['ciba', '{ approval: page, delivery: ping }', /ciba.notificationEndpoint: is required/],
    [
      'ciba',
      '{ approval: page, notificationEndpoint: https://x.example/ }',
      /ciba.notificationEndpoint: is for ping only/,
    ],
    [
      'ciba',
      '{ approval: page, delivery: ping, notificationEndpoint: "ftp://x.example/" }',
      /ciba.notificationEndpoint: must be an https URL/,
    ],
    [
      'ciba',
      '{ approval: page, delivery: push, notificationEndpoint: https://x.example/ }',
      /ciba.delivery: must be one of poll, ping$/m,
    ],
    ['ciba', '{ approval: page, delivery: pull }', /ciba.delivery: must be one of poll, ping$/m],
    ['pkce', 'never', /pkce: must be one of/],
    ['backchannelLogoutUri', 'http://x.example/', /backchannelLogoutUri: .*; use https/],
    ['backchannelLogoutSessionRequired', 'true', /SessionRequired: needs backchannelLogoutUri/],
    ['authenticatedStart', 'maybe', /authenticatedStart: must be one of optional, required/],
    ['authenticatedStart', 'required', /authenticatedStart: a public application cannot authenticate/],
    ['allowedRoles', '[]', /11:9: .*allowedRoles: must have at least 1 entry/],
    ['idTokenClaims', '[openid]', /idTokenClaims\[0\]: must be one of profile, email, phone, address/],
    ['idTokenClaims', '[phone]', /idTokenClaims\[0\]: is not among the scopes/],
    ['allowedRoles', 'clerk', /11:9: .*allowedRoles: must be a list/],
    ['allowedRoles', '[boss]', /11:24: .*allowedRoles\[0\]: is not a role of the tenant/],
    ['roles', '[]', /roles: must have at least 1 entry/],
    ['roles', '[boss]', /roles\[0\]: is not a role of the tenant/],
    ['roles', '[tessera.auditor, tessera.auditor]', /roles\[1\]: is listed twice/],
    ['loopbackPorts', 'all', /loopbackPorts: must be one of exact, any/],
    ['loopbackPorts', 'any', /loopbackPorts: any needs a redirect URI with http on 127.0.0.1/],
    ['status', 'locked', /status: must be one of active, disabled/],
  ])('with %s %s is refused', (key, value, expected) => {
    expect(mistakes(application(key, value)).join('\n')).toMatch(expected);
  });

  it.each([
    ['a short one', '[{ value: too-short }]', /secrets\[0\].value: must have at least 32 characters/],
    [
      'a short one until long from now',
      `[{ value: too-short, expiresAt: "${daysFromNow(91)}" }]`,
      /secrets\[0\].value: must have at least 32 characters, or an expiresAt within 90 days/,
    ],
    ['an empty one', `[{ value: "", expiresAt: "${daysFromNow(1)}" }]`, /value: must have at least 1 char/],
    [
      'three',
      `[${Array(3).fill('{ value: at-least-32-characters-of-secret-here }').join()}]`,
      /at most 2 entries/,
    ],
    [
      'the same twice',
      `[${Array(2).fill('{ value: at-least-32-characters-of-secret-here }').join()}]`,
      /listed twice/,
    ],
    ['an unresolved one', '[{ fromEnv: SECRET }]', /fromEnv: is resolved by the process that reads the file/],
    [
      'one until some day',
      '[{ value: at-least-32-characters-of-secret-here, expiresAt: soon }]',
      /expiresAt: must be a time/,
    ],
  ])('may not have secrets such as %s', (_what, secrets, expected) => {
    const text = application('secrets', secrets).replace('type: public', 'type: confidential');
    expect(mistakes(text).join('\n')).toMatch(expected);
  });

  it('may have a short secret for a while, as one that comes from elsewhere', () => {
    const secrets = `[{ value: too-short, expiresAt: "${daysFromNow(89)}" }]`;
    expect(mistakes(application('secrets', secrets).replace('type: public', 'type: confidential'))).toEqual(
      [],
    );
  });

  it('may require roles of its tenant, each named once (DEV-2)', () => {
    const withRoles = (roles: string) =>
      mistakes(
        application('allowedRoles', roles).replace('    applications:', '    roles: [clerk, manager]\n$&'),
      );
    expect(withRoles('[manager, clerk]')).toEqual([]);
    expect(withRoles('[clerk, clerk]').join()).toMatch(/allowedRoles\[1\]: is listed twice/);
    expect(withRoles('[clerk, boss]').join()).toMatch(/allowedRoles\[1\]: is not a role of the tenant/);
  });

  it('may have the ciba grant without an approval channel: the flow is refused at the start', () => {
    expect(mistakes(application('grantTypes', '[authorization_code, ciba]'))).toEqual([]);
  });
});

describe('a declared tenant', () => {
  it.each([
    [
      'a scope twice',
      ['resources:', ...resource('a', 'read'), ...resource('b', 'read')],
      /scopes\[0\]: is declared twice/,
    ],
    [
      'the introspection scope',
      ['resources:', ...resource('a', 'tokens.introspect')],
      /is built in and may not be declared/,
    ],
    ['a built-in scope', ['resources:', ...resource('a', 'openid')], /is built in and may not be declared/],
    [
      'a resource twice',
      ['resources:', ...resource('a', 'r'), ...resource('a', 's')],
      /audience: is declared twice/,
    ],
    ['a role twice', ['roles: [clerk, clerk]'], /roles\[1\]: is declared twice/],
    [
      'an unknown role',
      ['users: [{ username: ada, roles: [boss] }]'],
      /roles\[0\]: is not a role of the tenant/,
    ],
    ['a user twice', ['users: [{ username: ada }, { username: ADA }]'], /users\[1\]: shares a user name/],
    [
      'one person’s user name as another’s address',
      ['users: [{ username: a@b.example }, { username: bob, email: A@b.example }]'],
      /users\[1\]: shares/,
    ],
    [
      'password and hash',
      [
        'users: [{ username: ada, password: x, passwordHash: "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4" }]',
      ],
      /passwordHash: cannot be combined with password/,
    ],
    [
      'a long password',
      [`users: [{ username: ada, password: ${'x'.repeat(1025)} }]`],
      /password: must have at most 1024/,
    ],
  ])('may not have %s', (_what, lines, expected) => {
    expect(mistakes(tenant(...lines)).join('\n')).toMatch(expected);
  });

  it('occurs once, and so does each client id over all tenants', () => {
    const one = application('name', 'One');
    const other = one.replace('tenants:\n', '').replace('acme', 'globex');
    expect(mistakes(`${one}\n${other}`)).toEqual([
      expect.stringMatching(/tenants\[1\]\.applications\[0\]\.clientId: is declared twice/),
    ]);
    expect(mistakes(`${tenant()}\n  - { id: acme, name: Again }`)).toEqual([
      expect.stringMatching(/^4:.* tenants\[1\]\.id: is declared twice/),
    ]);
  });
});

function resource(name: string, scope: string): string[] {
  return [`  - { audience: "https://${name}.example", name: ${name}, scopes: [${scope}] }`];
}
