import { describe, expect, it } from 'vitest';
import { accessTokenClaims, idTokenClaims } from './token-claims.ts';
import { claimNameProblem, mappedClaims } from './custom-claims.ts';
import { userInfoClaimNames } from './user-claims.ts';

const mapping = (name: string, attribute: string, ...targets: string[]) => ({
  name,
  attribute,
  idToken: targets.includes('idToken'),
  accessToken: targets.includes('accessToken'),
  userinfo: targets.includes('userinfo'),
});

describe('mappedClaims', () => {
  const mappings = [
    mapping('groups', '', 'idToken', 'accessToken'),
    mapping('department', 'department', 'idToken', 'userinfo'),
    mapping('constructor', 'constructor', 'idToken'),
  ];
  const user = { roles: ['clerk'], attributes: { department: ['Mathematics', 'Engines'] } };

  it('has the roles and attributes of the user, each for its targets.', () => {
    expect(mappedClaims(mappings, user, 'idToken')).toEqual({
      groups: ['clerk'],
      department: ['Mathematics', 'Engines'],
    });
    expect(mappedClaims(mappings, user, 'accessToken')).toEqual({ groups: ['clerk'] });
    expect(mappedClaims(mappings, user, 'userinfo')).toEqual({ department: ['Mathematics', 'Engines'] });
  });

  it('leaves out what the user does not have.', () => {
    expect(mappedClaims(mappings, { roles: [] }, 'idToken')).toEqual({});
    expect(mappedClaims([], user, 'idToken')).toBeUndefined();
  });
});

describe('claimNameProblem', () => {
  it('refuses every claim that this server sets itself.', () => {
    const times = { issuedAt: 1, lifetime: 1 };
    const who = { issuer: 'i', subject: 's', clientId: 'c', tenantId: 't', ...times };
    const of = {
      scopes: [],
      roles: [],
      resource: '',
      tokenId: 'j',
      authentication: undefined,
      userinfoClaims: ['name'],
    };
    const access = accessTokenClaims({ ...who, ...of });
    const id = idTokenClaims({
      ...who,
      authentication: { time: 1, methods: ['pwd'] },
      nonce: 'n',
      accessToken: 'a',
      sessionId: 's',
    });
    for (const name of [...Object.keys(access), ...Object.keys(id), ...userInfoClaimNames]) {
      expect(claimNameProblem(name), name).toBeTypeOf('string');
    }
  });

  it.each([
    'nbf',
    'azp',
    'cnf',
    'events',
    'scp',
    'urn:openid:params:jwt:claim:auth_req_id',
    '__proto__',
    'a b',
    '',
  ])('refuses %j.', (name) => {
    expect(claimNameProblem(name)).toBeTypeOf('string');
  });

  it.each(['groups', 'roles', 'entitlements', 'department', 'https://acme.example/department'])(
    'allows %j (RFC 9068 §2.2.3.1, RFC 7519 §4.2).',
    (name) => {
      expect(claimNameProblem(name)).toBeUndefined();
    },
  );
});
