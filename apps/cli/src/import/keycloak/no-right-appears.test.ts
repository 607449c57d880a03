import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runsEverything } from '@tessera/test-kit';
import { moved } from '../../testing/moved-realm.ts';

const uri = fc.constantFrom(
  'https://web.example/cb',
  'https://web.example/*',
  '*',
  '/cb',
  '/*',
  'http://web.example/cb',
  'http://localhost:3000/cb',
  'http://localhost/cb',
  'com.example.app:/cb',
  '${url}/cb',
  '',
);
const isOn = fc.constantFrom('true', 'false', '');
const client = fc.record(
  {
    clientId: fc.constantFrom('web', 'api', 'tv'),
    enabled: fc.boolean(),
    publicClient: fc.boolean(),
    bearerOnly: fc.boolean(),
    standardFlowEnabled: fc.boolean(),
    implicitFlowEnabled: fc.boolean(),
    directAccessGrantsEnabled: fc.boolean(),
    serviceAccountsEnabled: fc.boolean(),
    consentRequired: fc.boolean(),
    fullScopeAllowed: fc.boolean(),
    secret: fc.constantFrom('short', '**********', 's'.repeat(32)),
    clientAuthenticatorType: fc.constantFrom('client-secret', 'client-jwt', 'client-x509'),
    rootUrl: fc.constantFrom('', 'https://root.example', '${authBaseUrl}'),
    redirectUris: fc.array(uri, { maxLength: 4 }),
    defaultClientScopes: fc.subarray(['email', 'profile', 'orders', 'plain']),
    attributes: fc.record(
      {
        'oauth2.device.authorization.grant.enabled': isOn,
        'oidc.ciba.grant.enabled': isOn,
        'use.refresh.tokens': isOn,
        'dpop.bound.access.tokens': isOn,
        'require.pushed.authorization.requests': isOn,
        'pkce.code.challenge.method': fc.constantFrom('S256', 'plain', ''),
        'default.acr.values': fc.constantFrom('gold', ''),
        'post.logout.redirect.uris': fc.constantFrom('+', '-', 'https://web.example/*##+'),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['clientId'] },
);
const realm = fc.record(
  {
    enabled: fc.boolean(),
    clients: fc.uniqueArray(client, { selector: ({ clientId }) => clientId, minLength: 1 }),
    browserFlow: fc.constantFrom('browser', 'strict', 'unknown'),
  },
  { requiredKeys: ['clients'] },
);

const roles = { realm: [{ name: 'clerk' }, { name: 'boss' }] };
const authenticationFlows = [
  {
    alias: 'strict',
    authenticationExecutions: [
      { authenticator: 'auth-username-password-form', requirement: 'REQUIRED' },
      { authenticator: 'auth-otp-form', requirement: 'REQUIRED' },
    ],
  },
];
const orders = {
  name: 'orders',
  protocolMappers: [
    { protocolMapper: 'oidc-audience-mapper', config: { 'included.custom.audience': 'urn:orders' } },
  ],
};

it('no right appears that a client did not have, whatever the realm', () => {
  fc.assert(
    fc.property(realm, (of) => {
      const whole = { ...of, roles, authenticationFlows, clientScopes: [orders] };
      const { records, toDo = [], leftOut } = moved(whole);
      for (const before of of.clients) {
        const { clientId, attributes = {}, enabled = true, standardFlowEnabled = true } = before;
        const after = records.applications.find((each) => each['clientId'] === clientId);
        if (after === undefined) {
          expect(leftOut).toContainEqual(expect.stringMatching(`^application ${clientId}: `));
          continue;
        }
        const isDisabled = after['status'] === 'disabled';
        const grants = after['grantTypes'] as readonly string[];
        const { disabledFor = [] } = toDo.find((each) => each.clientId === clientId) ?? {};
        const wasDisabled = !enabled || of.enabled === false;
        expect(isDisabled).toBe(wasDisabled || disabledFor.length > 0);
        const asked = {
          authorization_code: standardFlowEnabled || (isDisabled && before.implicitFlowEnabled === true),
          client_credentials: before.serviceAccountsEnabled === true && before.publicClient !== true,
          device_code: attributes['oauth2.device.authorization.grant.enabled'] === 'true',
          ciba: attributes['oidc.ciba.grant.enabled'] === 'true' && before.publicClient !== true,
          refresh_token: isDisabled || attributes['use.refresh.tokens'] !== 'false',
        };
        for (const grant of grants) expect(asked).toMatchObject({ [grant]: true });
        for (const each of (after['redirectUris'] ?? []) as readonly string[]) {
          expect(each).not.toMatch(/[*${]/);
          const { rootUrl = '', redirectUris = [] } = before;
          expect(redirectUris.map((own) => (own.startsWith('/') ? rootUrl + own : own))).toContain(each);
        }
        if (attributes['pkce.code.challenge.method'] === 'S256') expect(after).not.toHaveProperty('pkce');
        if (before.publicClient !== true) expect(after['type']).toBe('confidential');
        const hasPeople = grants.some((grant) => grant !== 'client_credentials');
        const { consentRequired = false } = before;
        if (hasPeople && consentRequired) expect(after).toMatchObject({ thirdParty: true });
        if (hasPeople && !(before.fullScopeAllowed ?? !consentRequired))
          expect(after).toMatchObject({ roles: ['keycloak:no-roles'] });
        if (hasPeople && of.browserFlow !== undefined && of.browserFlow !== 'browser')
          expect(after).toMatchObject({ authenticationPolicy: 'second-factor' });
        const narrowing = ['dpop.bound.access.tokens', 'require.pushed.authorization.requests'] as const;
        if (narrowing.some((key) => attributes[key] === 'true')) expect(isDisabled).toBe(true);
        const assigned = ['openid', ...(before.defaultClientScopes ?? (after['scopes'] as string[]))];
        expect(assigned).toEqual(expect.arrayContaining(after['scopes'] as string[]));
      }
    }),
    { numRuns: runsEverything ? 1000 : 100 },
  );
});
