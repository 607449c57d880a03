import { describe, expect, it } from 'vitest';
import { client, moved, movedClient, type Part } from '../../testing/moved-realm.ts';

const accepted = { acceptsWider: true };

describe('what narrows a client and has no counterpart', () => {
  it.each([
    [{ attributes: { 'dpop.bound.access.tokens': 'true' } }, 'tokens that are bound to a key (DPoP)'],
    [
      { attributes: { 'tls-client-certificate-bound-access-tokens': 'true' } },
      'tokens that are bound to a certificate',
    ],
    [
      { attributes: { 'tls.client.certificate.bound.access.tokens': 'true' } },
      'tokens that are bound to a certificate',
    ],
    [{ attributes: { 'require.pushed.authorization.requests': 'true' } }, 'requests that must be pushed'],
    [{ attributes: { 'request.object.required': 'request only' } }, 'requests that must be signed'],
    [{ attributes: { 'id.token.encrypted.response.alg': 'RSA-OAEP' } }, 'ID tokens that are encrypted'],
    [{ attributes: { 'default.acr.values': 'gold' } }, 'a level of sign-in (default.acr.values)'],
    [{ attributes: { 'minimum.acr.value': 'gold' } }, 'a level of sign-in (minimum.acr.value)'],
    [{ authenticationFlowBindingOverrides: { browser: 'somewhere' } }, 'a sign-in flow of its own'],
  ])('with %j brings it disabled, unless it is accepted', (part: Part, what) => {
    const { application, disabledFor } = movedClient(part);
    expect(application).toMatchObject({ status: 'disabled' });
    expect(disabledFor).toEqual([`there is no counterpart of ${what}`]);
    const wider = movedClient(part, accepted);
    expect(wider.application).not.toHaveProperty('status');
    expect(wider.leftOut).toEqual([`${what} of application web: has no counterpart; accepted`]);
  });

  it('is nothing if it is off, or about sign-ins where nobody signs in', () => {
    const off = {
      'dpop.bound.access.tokens': 'false',
      'request.object.required': 'not required',
      'id.token.encrypted.response.alg': '',
      'default.acr.values': '',
    };
    expect(movedClient({ attributes: off }).leftOut).toEqual([]);
    const service = {
      standardFlowEnabled: false,
      serviceAccountsEnabled: true,
      attributes: { 'default.acr.values': 'gold' },
    };
    expect(movedClient(service).application).not.toHaveProperty('status');
  });
});

describe('a client that may not have all roles', () => {
  const ofRealm = {
    roles: {
      realm: [{ name: 'clerk' }, { name: 'boss', composites: { realm: ['clerk'] } }, { name: 'other' }],
      client: { web: [{ name: 'own' }], api: [{ name: 'read' }, { name: 'write' }] },
    },
    scopeMappings: [{ client: 'web', roles: ['boss'] }],
    clientScopeMappings: { api: [{ clientScope: 'email', roles: ['read'] }] },
  };
  const rolesOf = (part: Part, realm: Part = ofRealm) => movedClient(part, {}, realm).application?.['roles'];

  it('has its own, those that are mapped to it and its scopes, and what they are composed of', () => {
    expect(rolesOf({ fullScopeAllowed: false, defaultClientScopes: ['email'] })).toEqual([
      'clerk',
      'boss',
      'web:own',
      'api:read',
    ]);
    expect(rolesOf({ fullScopeAllowed: false })).toEqual(['clerk', 'boss', 'web:own']);
    expect(rolesOf({})).toBeUndefined();
  });

  it('has none for a name that every object has', () => {
    expect(rolesOf({ clientId: 'constructor', fullScopeAllowed: false })).toEqual(['keycloak:no-roles']);
  });

  it('is one that asks for consent, unless it says otherwise', () => {
    expect(rolesOf({ consentRequired: true })).toEqual(['clerk', 'boss', 'web:own']);
    expect(rolesOf({ consentRequired: true, fullScopeAllowed: true })).toBeUndefined();
  });

  it('has a role that nobody has, if there are none', () => {
    const clients = [{ ...client, fullScopeAllowed: false }];
    const { records, leftOut } = moved({ clients, roles: { realm: [{ name: 'clerk' }] } });
    expect(records.applications[0]).toMatchObject({ roles: ['keycloak:no-roles'] });
    expect(records.roles).toEqual(['clerk', 'keycloak:no-roles']);
    expect(leftOut).toEqual([
      'roles of application web: its tokens had none; it has keycloak:no-roles alone, which nobody has',
    ]);
  });
});

describe('the sign-in flow', () => {
  const flow = (alias: string, ...steps: readonly (readonly [requirement: string, step: string])[]) => ({
    id: `id-of-${alias}`,
    alias,
    authenticationExecutions: steps.map(([requirement, step]) =>
      step.startsWith('flow ')
        ? { requirement, flowAlias: step.slice('flow '.length), authenticatorFlow: true }
        : { requirement, authenticator: step },
    ),
  });
  const password = ['REQUIRED', 'auth-username-password-form'] as const;
  const otp = ['REQUIRED', 'auth-otp-form'] as const;
  const own = [
    flow(
      'browser',
      ['ALTERNATIVE', 'auth-cookie'],
      ['DISABLED', 'auth-spnego'],
      ['ALTERNATIVE', 'identity-provider-redirector'],
      ['ALTERNATIVE', 'flow Organization'],
      ['ALTERNATIVE', 'flow forms'],
    ),
    flow('Organization', ['CONDITIONAL', 'flow Conditional Organization']),
    flow(
      'Conditional Organization',
      ['REQUIRED', 'conditional-user-configured'],
      ['ALTERNATIVE', 'organization'],
    ),
    flow('forms', password, ['CONDITIONAL', 'flow Conditional OTP']),
    flow('Conditional OTP', ['REQUIRED', 'conditional-user-configured'], otp),
  ];
  const policyOf = (browserFlow: string, flows: readonly unknown[]) =>
    movedClient({}, {}, { browserFlow, authenticationFlows: flows }).application?.['authenticationPolicy'];

  it('of every realm asks for a password', () => {
    expect(policyOf('browser', own)).toBeUndefined();
    expect(policyOf('browser', [])).toBeUndefined();
    const former = flow('browser', ['ALTERNATIVE', 'flow forms']);
    const forms = flow('forms', password, ['OPTIONAL', 'auth-otp-form']);
    expect(policyOf('browser', [former, forms])).toBeUndefined();
  });

  it('with a second factor for everybody or for some is the policy of applications', () => {
    expect(policyOf('strict', [flow('strict', password, otp)])).toBe('second-factor');
    const some = flow('some', ['REQUIRED', 'conditional-user-role'], otp);
    expect(policyOf('x', [flow('x', password, ['CONDITIONAL', 'flow some']), some])).toBe('second-factor');
    const passkey = flow('passkey', ['REQUIRED', 'webauthn-authenticator-passwordless']);
    expect(policyOf('passkey', [passkey])).toBe('phishing-resistant');
    const either = flow('either', ['ALTERNATIVE', 'flow passkey'], ['ALTERNATIVE', 'flow strict']);
    expect(policyOf('either', [either, passkey, flow('strict', password, otp)])).toBe('second-factor');
  });

  it('with a step that is not known asks for a second factor, unless that is accepted', () => {
    const realm = { browserFlow: 'x', authenticationFlows: [flow('x', password, ['REQUIRED', 'script'])] };
    const { application, leftOut } = movedClient({}, {}, realm);
    expect(application).toMatchObject({ authenticationPolicy: 'second-factor' });
    expect(leftOut).toEqual([
      'sign-in flow x: has steps that are not known here; applications ask for a second factor instead',
    ]);
    const wider = movedClient({}, accepted, realm);
    expect(wider.application).not.toHaveProperty('authenticationPolicy');
    expect(wider.leftOut).toEqual(['sign-in flow x: has steps that are not known here; accepted']);
    expect(policyOf('y', [flow('y', password, ['REQUIRED', 'constructor'])])).toBe('second-factor');
    expect(policyOf('gone', [])).toBe('second-factor');
    expect(policyOf('loop', [flow('loop', ['REQUIRED', 'flow loop'])])).toBe('second-factor');
  });

  it.each([
    [{}, { browserFlow: 'x' }],
    [{ authenticationFlowBindingOverrides: { browser: 'x' } }, {}],
  ])('that denies people in any step brings applications disabled, unless it is accepted: %j', (part, of) => {
    const realm = (requirement: string) => ({
      authenticationFlows: [
        flow('x', password, ['CONDITIONAL', 'flow outsiders']),
        flow('outsiders', ['REQUIRED', 'conditional-user-role'], ['REQUIRED', 'flow out']),
        flow('out', [requirement, 'deny-access-authenticator'], ['REQUIRED', 'allow-access-authenticator']),
      ],
      ...of,
    });
    const { application, disabledFor } = movedClient(part, {}, realm('REQUIRED'));
    expect(application).toMatchObject({ status: 'disabled' });
    expect(disabledFor).toContain('there is no counterpart of a sign-in flow that denies people');
    const wider = movedClient(part, accepted, realm('REQUIRED'));
    expect(wider.application).not.toHaveProperty('status');
    expect(wider.leftOut).toContain(
      'a sign-in flow that denies people of application web: has no counterpart; accepted',
    );
    expect(movedClient(part, {}, realm('DISABLED')).application).not.toHaveProperty('status');
  });

  it('within itself lets nobody in, whichever part is asked for first', () => {
    const alternatives = [['ALTERNATIVE', 'flow two'], password] as const;
    const authenticationFlows = [flow('one', ...alternatives), flow('two', ['REQUIRED', 'flow one'])];
    for (const [browserFlow, browser] of [
      ['one', 'two'],
      ['two', 'one'],
    ]) {
      const part = { authenticationFlowBindingOverrides: { browser } };
      const { application } = movedClient(part, {}, { browserFlow, authenticationFlows });
      expect(application).toMatchObject({ status: 'disabled' });
    }
  });

  it('is read once, however often others have it within', { timeout: 2000 }, () => {
    const nested = Array.from({ length: 16 }, (_, index) => {
      const below = ['REQUIRED', `flow n${index + 1}`] as const;
      return flow(`n${index}`, below, below);
    });
    expect(policyOf('n0', [...nested, flow('n16', password, otp)])).toBe('second-factor');
  });

  it('of a client stands in place of that of the realm', () => {
    const realm = { browserFlow: 'strict', authenticationFlows: [...own, flow('strict', password, otp)] };
    const overridden = (browser: string) =>
      movedClient({ authenticationFlowBindingOverrides: { browser } }, {}, realm).application;
    expect(overridden('id-of-browser')).not.toHaveProperty('authenticationPolicy');
    expect(overridden('')).toMatchObject({ authenticationPolicy: 'second-factor' });
  });
});
