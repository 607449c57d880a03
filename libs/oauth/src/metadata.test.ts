import { describe, expect, it } from 'vitest';
import { grantTypeByContractName, grantTypeByStandardName } from './grant-types.ts';
import { promptValues } from './request/authorization-request.ts';
import { announcedByShared, authorizationServerMetadata, contractMetadata, endpointUri } from './metadata.ts';

const issuer = 'https://id.example';
const served = { deliveryModes: ['poll', 'ping'], uiLocales: ['en', 'sv'] };

describe('contractMetadata', () => {
  it('has the fields of the contract’s table first, in its order.', () => {
    expect(Object.entries(contractMetadata(issuer, served)).slice(0, 13)).toEqual([
      ['issuer', issuer],
      ['jwks_uri', 'https://id.example/.well-known/jwks.json'],
      ['authorization_endpoint', 'https://id.example/authorize'],
      ['token_endpoint', 'https://id.example/token'],
      ['introspect_endpoint', 'https://id.example/introspect'],
      ['revoke_token_endpoint', 'https://id.example/revoke'],
      ['userinfo_endpoint', 'https://id.example/userinfo'],
      ['response_types_supported', ['code']],
      ['subject_types_supported', ['public']],
      ['id_token_signing_alg_values_supported', ['RS256']],
      ['token_endpoint_auth_methods_supported', ['client_secret_basic', 'client_secret_post']],
      [
        'grant_types_supported',
        ['authorization_code', 'client_credentials', 'refresh_token', 'device_code', 'ciba'],
      ],
      ['scopes_supported', ['openid', 'profile', 'email', 'phone', 'offline_access']],
    ]);
  });
});

describe('what applications of an issuer declare', () => {
  it('is announced in both documents, with the algorithms of assertions, and without it nothing is', () => {
    const declared = {
      idTokenAlgorithms: ['ES256'],
      authenticationMethods: ['private_key_jwt'],
      grantTypes: ['jwt_bearer'],
    };
    const both = [authorizationServerMetadata, contractMetadata];
    const grants = ['urn:ietf:params:oauth:grant-type:jwt-bearer', 'jwt_bearer'];
    for (const [at, build] of both.entries()) {
      const document: Readonly<Record<string, unknown>> = build(issuer, { ...served, declared });
      expect(document['id_token_signing_alg_values_supported']).toEqual(['RS256', 'ES256']);
      expect(document['token_endpoint_auth_methods_supported']).toContain('private_key_jwt');
      expect(document['token_endpoint_auth_methods_supported']).not.toContain('spiffe_jwt');
      expect(document['token_endpoint_auth_signing_alg_values_supported']).not.toContain('HS256');
      expect(document['grant_types_supported']).toContain(grants[at]);
      const without = JSON.stringify(build(issuer, served));
      expect(without).not.toMatch(/_jwt|jwt.bearer|auth_signing_alg|ES256/);
    }
  });
});

describe('what the shared issuer announces', () => {
  const uses = [
    { idTokenAlgorithms: [], authenticationMethods: [], grantTypes: [] },
    { idTokenAlgorithms: [], authenticationMethods: ['private_key_jwt'], grantTypes: ['jwt_bearer'] },
  ];

  it('is the same whatever one tenant declares, in the complete document everything (RFC 8414 §2)', () => {
    const [without, declared] = uses.map((use) =>
      authorizationServerMetadata(issuer, { ...served, declared: announcedByShared(use, 'complete') }),
    );
    expect(declared).toEqual(without);
    expect(without?.token_endpoint_auth_methods_supported).toEqual([
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt',
      'spiffe_jwt',
      'none',
    ]);
    expect(without?.grant_types_supported).toContain('urn:ietf:params:oauth:grant-type:jwt-bearer');
  });

  it('is the same whatever one tenant declares, in the contract’s document what the contract says', () => {
    const [without, declared] = uses.map((use) =>
      contractMetadata(issuer, { ...served, declared: announcedByShared(use, 'contract') }),
    );
    expect(declared).toEqual(without);
    expect(without).toEqual(contractMetadata(issuer, served));
  });
});

describe('contractMetadata compared with authorizationServerMetadata', () => {
  const metadata = authorizationServerMetadata(issuer, served);

  it('has every other registered field, with the same value (OIDC Discovery §3)', () => {
    const document = contractMetadata(issuer, served);
    expect(document).toMatchObject({
      introspection_endpoint: 'https://id.example/introspect',
      revocation_endpoint: 'https://id.example/revoke',
      code_challenge_methods_supported: ['S256'],
      request_uri_parameter_supported: false,
      authorization_response_iss_parameter_supported: true,
    });
    const missing = Object.keys(metadata).filter((name) => !Object.hasOwn(document, name));
    expect(missing).toEqual([
      'device_authorization_endpoint',
      'backchannel_authentication_endpoint',
      'end_session_endpoint',
      'backchannel_logout_supported',
      'backchannel_logout_session_supported',
      'backchannel_token_delivery_modes_supported',
      'backchannel_user_code_parameter_supported',
    ]);
  });
});

describe('authorizationServerMetadata (RFC 8414 §2)', () => {
  const metadata = authorizationServerMetadata(issuer, served);

  it('has every endpoint under its registered name.', () => {
    expect(metadata).toMatchObject({
      introspection_endpoint: 'https://id.example/introspect',
      revocation_endpoint: 'https://id.example/revoke',
      device_authorization_endpoint: 'https://id.example/device_authorization',
      backchannel_authentication_endpoint: 'https://id.example/backchannel_authentication',
      end_session_endpoint: 'https://id.example/logout',
    });
  });

  it('lists the prompts that a request may have, and the languages of the pages (OIDC Discovery §3).', () => {
    expect(metadata.prompt_values_supported).toEqual(['none', 'login', 'consent', 'select_account']);
    for (const prompt of metadata.prompt_values_supported) {
      expect(promptValues(prompt)).toEqual(new Set([prompt]));
    }
    expect(metadata.ui_locales_supported).toEqual(['en', 'sv']);
  });

  it('has the scope address, the standard claims, acr and amr (OIDC Core §5.1, §5.4).', () => {
    expect(metadata.scopes_supported).toEqual([
      'openid',
      'profile',
      'email',
      'phone',
      'address',
      'offline_access',
    ]);
    expect(metadata.acr_values_supported).toEqual(['1', '2', '3']);
    expect(metadata.claims_supported).toEqual(
      expect.arrayContaining([
        'sub',
        'acr',
        'amr',
        'given_name',
        'email_verified',
        'phone_number_verified',
        'address',
      ]),
    );
  });

  it('has the available delivery modes of CIBA (CIBA Core §4).', () => {
    expect(metadata.backchannel_token_delivery_modes_supported).toEqual(['poll', 'ping']);
    expect(metadata.backchannel_user_code_parameter_supported).toBe(false);
  });

  it('has PKCE with S256 only, no implicit grant, and iss in responses (RFC 9700 §2.1, RFC 9207 §3).', () => {
    expect(metadata.code_challenge_methods_supported).toEqual(['S256']);
    expect(metadata.response_types_supported).toEqual(['code']);
    expect(metadata.authorization_response_iss_parameter_supported).toBe(true);
    expect(metadata.grant_types_supported).toEqual([
      'authorization_code',
      'client_credentials',
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:device_code',
      'urn:openid:params:grant-type:ciba',
    ]);
  });
});

describe('authorizationServerMetadata by the paths of Keycloak', () => {
  it('names these where Keycloak has an endpoint, and differs in nothing else.', () => {
    const issuer = 'https://id.example/realms/harbour';
    const standard = authorizationServerMetadata(issuer, served);
    expect(authorizationServerMetadata(issuer, { ...served, endpoints: 'keycloak' })).toEqual({
      ...standard,
      authorization_endpoint: `${issuer}/protocol/openid-connect/auth`,
      token_endpoint: `${issuer}/protocol/openid-connect/token`,
      jwks_uri: `${issuer}/protocol/openid-connect/certs`,
      userinfo_endpoint: `${issuer}/protocol/openid-connect/userinfo`,
      introspection_endpoint: `${issuer}/protocol/openid-connect/token/introspect`,
      revocation_endpoint: `${issuer}/protocol/openid-connect/revoke`,
      device_authorization_endpoint: `${issuer}/protocol/openid-connect/auth/device`,
      backchannel_authentication_endpoint: `${issuer}/protocol/openid-connect/ext/ciba/auth`,
      end_session_endpoint: `${issuer}/protocol/openid-connect/logout`,
    });
  });
});

describe('names of endpoints and grant types', () => {
  it('do not double the slash of an issuer that ends with one.', () => {
    expect(endpointUri('https://id.example/t/', 'token')).toBe('https://id.example/t/token');
  });

  it('keep the two names of a grant type apart.', () => {
    expect(grantTypeByContractName('device_code')).toBe(
      grantTypeByStandardName('urn:ietf:params:oauth:grant-type:device_code'),
    );
    expect(grantTypeByStandardName('device_code')).toBeUndefined();
    expect(grantTypeByContractName('urn:openid:params:grant-type:ciba')).toBeUndefined();
    expect(grantTypeByContractName('constructor')).toBeUndefined();
    expect(grantTypeByContractName('password')).toBeUndefined();
  });
});
