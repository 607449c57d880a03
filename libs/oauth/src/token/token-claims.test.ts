import { describe, expect, it } from 'vitest';
import { accessTokenClaims, accessTokenHash, idTokenClaims } from './token-claims.ts';

const issuer = 'https://id.example';

describe('accessTokenClaims', () => {
  const input = {
    issuer,
    subject: 'u1',
    clientId: 'acme-web',
    tenantId: 'acme',
    scopes: ['openid', 'orders.read'],
    roles: ['clerk'],
    resource: 'https://orders.example',
    issuedAt: 1_000,
    lifetime: 600,
    tokenId: 'j1',
    authentication: undefined,
    userinfoClaims: [],
  };

  it('has the claims of the contract and of RFC 9068 §2.2, and no others.', () => {
    expect(accessTokenClaims(input)).toEqual({
      iss: issuer,
      aud: 'https://orders.example',
      sub: 'u1',
      client_id: 'acme-web',
      scope: ['openid', 'orders.read'],
      role: ['clerk'],
      exp: 1_600,
      iat: 1_000,
      jti: 'j1',
      tenant_id: 'acme',
    });
  });

  it('says when and in which class a person signed in, if that is known (RFC 9470 §6.1)', () => {
    const claimsFor = (time: number, methods: string[]) =>
      accessTokenClaims({ ...input, authentication: { time, methods } });
    expect(claimsFor(990, ['pwd', 'otp', 'mfa'])).toMatchObject({ auth_time: 990, acr: '2' });
    expect(claimsFor(990, [])).not.toHaveProperty('auth_time');
    expect(claimsFor(990, [])).not.toHaveProperty('acr');
  });

  it('names the claims that it releases in addition to those of its scopes (OIDC Core §5.5).', () => {
    const claims = accessTokenClaims({ ...input, userinfoClaims: ['name'] });
    expect(claims.userinfo_claims).toEqual(['name']);
  });

  it('has the issuer as audience if no API scope was granted.', () => {
    expect(accessTokenClaims({ ...input, resource: '' }).aud).toBe(issuer);
  });
});

describe('idTokenClaims (OIDC Core §2)', () => {
  const input = {
    issuer,
    subject: 'u1',
    clientId: 'acme-web',
    issuedAt: 1_000,
    lifetime: 600,
    authentication: { time: 990, methods: ['pwd'] },
    nonce: 'n',
    accessToken: 'a.b.c',
    sessionId: 's1',
  };

  it('has every claim that applies.', () => {
    expect(idTokenClaims(input)).toEqual({
      iss: issuer,
      sub: 'u1',
      aud: 'acme-web',
      exp: 1_600,
      iat: 1_000,
      auth_time: 990,
      nonce: 'n',
      at_hash: accessTokenHash('a.b.c'),
      sid: 's1',
      acr: '1',
      amr: ['pwd'],
    });
  });

  it('omits claims that do not apply.', () => {
    const authentication = { time: 990, methods: [] };
    const absent = { nonce: '', accessToken: undefined, sessionId: undefined };
    const bare = idTokenClaims({ ...input, ...absent, authentication });
    expect(Object.keys(bare)).toEqual(['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time']);
  });

  it('hashes the access token as the example of OIDC Core §A.3 does.', () => {
    expect(accessTokenHash('jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y')).toBe('77QmUPtjPfzWtF2AnpK9RQ');
  });
});
