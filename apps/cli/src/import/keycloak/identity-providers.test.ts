import { describe, expect, it } from 'vitest';
import { moved, type Part } from '../../testing/moved-realm.ts';

const issuer = 'https://sso.corp.example/realms/staff';
const config = {
  issuer,
  clientId: 'harbour',
  clientSecret: 'what-corp-knows-harbour-by',
  defaultScope: 'profile email',
  clientAuthMethod: 'client_secret_post',
};
const corp = { alias: 'corp', providerId: 'oidc', displayName: 'Corp', config };
const mapper = (identityProviderMapper: string, of: Part, name = 'm') => ({
  name,
  identityProviderAlias: 'corp',
  identityProviderMapper,
  config: of,
});

/** What comes of one identity provider. */
function brought(provider: Part, ofRealm: Part = {}, options = {}) {
  const { records, leftOut, toDoOfTenant } = moved(
    { identityProviders: [{ ...corp, ...provider }], ...ofRealm },
    options,
  );
  return { provider: records.providers?.[0], leftOut, toDo: toDoOfTenant };
}

const declareIt = (alias: string, why: string) =>
  `identity provider ${alias}: ${why}; declare a provider of this name, and import again: its links come then`;

describe('identity providers', () => {
  it('by OpenID Connect come with their client, its secret and what is asked for', () => {
    expect(brought({})).toEqual({
      provider: {
        name: 'corp',
        preset: 'none',
        displayName: 'Corp',
        issuer,
        clientId: 'harbour',
        clientSecret: config.clientSecret,
        scopes: ['openid', 'profile', 'email'],
        createsAccounts: true,
      },
      leftOut: [],
      toDo: ['identity provider corp: register the redirect URI of this tenant there'],
    });
  });

  it('are asked for no more than there: openid alone, unless the file or Google says more', () => {
    const { defaultScope: _, ...without } = config;
    expect(brought({ config: without }).provider?.['scopes']).toEqual(['openid']);
    expect(brought({ providerId: 'google', config: without }).provider).toMatchObject({
      preset: 'google',
      scopes: ['openid', 'profile', 'email'],
    });
  });

  it('never link somebody by an address, whatever the file trusts', () => {
    const { provider } = brought({ trustEmail: true });
    expect(provider).not.toHaveProperty('linking');
    expect(provider).not.toHaveProperty('domains');
  });

  it('that are a Keycloak have the issuer of its address', () => {
    const { issuer: _, ...others } = config;
    const authorizationUrl = `${issuer}/protocol/openid-connect/auth`;
    const of = { ...others, authorizationUrl };
    expect(brought({ providerId: 'keycloak-oidc', config: of }).provider).toMatchObject({
      preset: 'keycloak',
      issuer,
    });
    expect(brought({ config: of }).provider).toMatchObject({ preset: 'none', issuer });
  });

  it('whose issuer nobody knows do not come, and no link to them: its `sub` may be of anybody (OIDC Core §2)', () => {
    const { issuer: _, ...others } = config;
    const federatedIdentities = [{ identityProvider: 'corp', userId: '1001' }];
    for (const more of [
      { authorizationUrl: `${issuer}/authorize` },
      { issuer: `${issuer},https://other.example` },
      { issuer: '${env.ISSUER}' },
    ]) {
      const { records, leftOut, toDoOfTenant } = moved({
        identityProviders: [{ ...corp, config: { ...others, ...more } }],
        users: [{ username: 'ada', federatedIdentities }],
      });
      expect([records.providers, records.users[0]?.['identities'] ?? []]).toEqual([[], []]);
      expect(leftOut).toContain('sign-in by corp of user ada: has no counterpart');
      expect(toDoOfTenant).toEqual([
        'identity provider corp: the file does not say its issuer, so nobody knows whose its links are; set it there, and import a new export',
      ]);
    }
  });

  it.each([['**********'], ['its secret']])(
    'have links that say their issuer, with the secret %s in the file or without it',
    (clientSecret) => {
      const identityProviders = [
        {
          alias: 'google',
          providerId: 'oidc',
          config: { issuer: 'https://not-google.example', clientSecret },
        },
        { alias: 'g', providerId: 'google', config: { issuer: 'https://ignored.example', clientSecret } },
      ];
      const federatedIdentities = ['google', 'g'].map((alias) => ({
        identityProvider: alias,
        userId: '1001',
      }));
      const { records } = moved({ identityProviders, users: [{ username: 'ada', federatedIdentities }] });
      expect(records.users[0]?.['identities']).toEqual([
        { provider: 'google', issuer: 'https://not-google.example', subject: '1001' },
        { provider: 'g', issuer: 'https://accounts.google.com', subject: '1001' },
      ]);
    },
  );

  it.each([['**********'], [''], ['${vault.corp}'], [undefined]])(
    'whose secret is %o in the file are to be declared',
    (clientSecret) => {
      const { provider, toDo } = brought({ config: { ...config, clientSecret } });
      expect([provider, toDo]).toEqual([undefined, [declareIt('corp', 'its secret is not in the file')]]);
    },
  );

  it('to which Keycloak proves a key are to be declared', () => {
    const { provider, toDo } = brought({ config: { ...config, clientAuthMethod: 'private_key_jwt' } });
    expect([provider, toDo]).toEqual([
      undefined,
      [declareIt('corp', 'Keycloak authenticates there by private_key_jwt')],
    ]);
  });

  it.each<[string, Part, string]>([
    ['hidden', { hideOnLogin: true }, 'its button is hidden there'],
    [
      'hidden by its settings',
      { config: { ...config, hideOnLoginPage: 'true' } },
      'its button is hidden there',
    ],
    ['of an organization', { organizationId: '1' }, 'it is that of an organization'],
    [
      'of a domain',
      { config: { ...config, hostedDomain: 'corp.example' } },
      'it is for the people of a domain',
    ],
    ['filtered', { config: { ...config, filteredByClaim: 'true' } }, 'it is for people with a claim'],
    ['followed by a flow', { postBrokerLoginFlowAlias: 'otp' }, 'a flow comes after it'],
  ])('which are %s come only if that is accepted', (_, more, what) => {
    const { provider, toDo } = brought(more);
    expect([provider, toDo]).toEqual([undefined, [declareIt('corp', `${what}, which has no counterpart`)]]);
    const accepted = brought(more, {}, { acceptsWider: true });
    expect(accepted.provider).toMatchObject({ name: 'corp' });
    expect(accepted.leftOut).toEqual([`identity provider corp: ${what}; accepted`]);
  });

  it.each<[string, Part]>([
    ['disabled', { enabled: false }],
    ['for links alone', { linkOnly: true }],
  ])('which are %s never come', (_, more) => {
    const { provider, leftOut } = brought(more, {}, { acceptsWider: true });
    expect([provider, leftOut]).toEqual([
      undefined,
      ['identity provider corp: nobody signs in with it there'],
    ]);
  });

  it.each(['saml', 'github', 'microsoft', 'gitlab', 'facebook'])('by %s are left out', (providerId) => {
    const { provider, leftOut } = brought({ providerId });
    expect([provider, leftOut]).toEqual([undefined, ['identity provider corp: has no counterpart']]);
  });
});

describe('people who are new at a provider', () => {
  const flow = (alias: string, ...steps: readonly Part[]) => ({ alias, authenticationExecutions: steps });
  const step = (authenticator: string, requirement = 'ALTERNATIVE') => ({ authenticator, requirement });
  const inner = { flowAlias: 'inner', requirement: 'REQUIRED' };
  const own = [flow('first broker login', step('idp-review-profile', 'REQUIRED'), inner)];
  const creation = step('idp-create-user-if-unique');

  it.each<[string, Part, boolean]>([
    [
      'get an account by the flow of Keycloak',
      { authenticationFlows: [...own, flow('inner', creation, step('idp-confirm-link'))] },
      true,
    ],
    [
      'get none where that step is disabled',
      { authenticationFlows: [...own, flow('inner', step('idp-create-user-if-unique', 'DISABLED'))] },
      false,
    ],
    [
      'get none where a step is unknown',
      { authenticationFlows: [...own, flow('inner', creation, step('check-invitation'))] },
      false,
    ],
    [
      'get none where a step denies people',
      { authenticationFlows: [...own, flow('inner', creation, step('deny-access-authenticator'))] },
      false,
    ],
    ['get none by a flow that is not in the file', { firstBrokerLoginFlow: 'ours' }, false],
  ])('%s', (_, ofRealm, creates) => {
    const { provider, leftOut } = brought({}, ofRealm);
    expect(provider?.['createsAccounts']).toBe(creates);
    const line =
      'identity provider corp: who has no account gets none by its first sign-in, as the flow for it has no counterpart';
    expect(leftOut.includes(line)).toBe(!creates);
  });

  it('are asked by the flow of the provider before that of the realm', () => {
    const flows = { authenticationFlows: [flow('invited', step('check-invitation'))] };
    expect(brought({ firstBrokerLoginFlowAlias: 'invited' }, flows).provider?.['createsAccounts']).toBe(
      false,
    );
  });
});

describe('mappers of identity providers', () => {
  const roles = { realm: [{ name: 'clerk' }], client: { 'web.shop': [{ name: 'payer' }] } };
  const of = (...identityProviderMappers: readonly Part[]) => brought({}, { roles, identityProviderMappers });

  it('give roles by a claim, or to everybody, and attributes', () => {
    const { provider, leftOut } = of(
      mapper('oidc-hardcoded-role-idp-mapper', { role: 'clerk' }),
      mapper('oidc-role-idp-mapper', { claim: 'groups', 'claim.value': 'pay', role: 'web.shop.payer' }),
      mapper('oidc-advanced-role-idp-mapper', {
        claims: '[{"key":"level","value":"7"}]',
        'are.claim.values.regex': 'false',
        role: 'clerk',
      }),
      mapper('oidc-user-attribute-idp-mapper', { claim: 'dept', 'user.attribute': 'department' }),
      // As it comes without a mapper.
      mapper('oidc-user-attribute-idp-mapper', { claim: 'given_name', 'user.attribute': 'firstName' }),
      { ...mapper('oidc-hardcoded-role-idp-mapper', { role: 'clerk' }), identityProviderAlias: 'other' },
    );
    expect(provider).toMatchObject({
      roleMappings: [
        { claim: 'iss', value: issuer, role: 'clerk' },
        { claim: 'groups', value: 'pay', role: 'web.shop:payer' },
        { claim: 'level', value: '7', role: 'clerk' },
      ],
      attributeMappings: { department: 'dept' },
    });
    expect(leftOut).toEqual([]);
  });

  it.each<[string, Part]>([
    ['oidc-hardcoded-role-idp-mapper', { role: 'nobody has it' }],
    ['oidc-role-idp-mapper', { claim: 'realm_access.roles', 'claim.value': 'boss', role: 'clerk' }],
    ['oidc-role-idp-mapper', { claim: 'groups', role: 'clerk' }],
    [
      'oidc-advanced-role-idp-mapper',
      { claims: '[{"key":"a","value":"1"},{"key":"b","value":"2"}]', role: 'clerk' },
    ],
    [
      'oidc-advanced-role-idp-mapper',
      { claims: '[{"key":"a","value":".*"}]', 'are.claim.values.regex': 'true', role: 'clerk' },
    ],
    ['oidc-advanced-role-idp-mapper', { claims: 'no JSON', role: 'clerk' }],
    ['oidc-user-attribute-idp-mapper', { claim: 'mail', 'user.attribute': 'email' }],
    ['oidc-username-idp-mapper', { template: '${CLAIM.sub}' }],
    ['oidc-advanced-group-idp-mapper', { group: '/all' }],
  ])('which are a %s with %o have a line, and give nothing', (kind, settings) => {
    const { provider, leftOut } = of(mapper(kind, settings, 'this one'));
    expect(provider).not.toHaveProperty('roleMappings');
    expect(provider).not.toHaveProperty('attributeMappings');
    expect(leftOut).toEqual([
      `mapper this one of identity provider corp: ${kind} with these settings has no counterpart`,
    ]);
  });
});
