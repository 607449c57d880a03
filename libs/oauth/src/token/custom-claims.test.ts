import { describe, expect, it } from 'vitest';
import { accessTokenClaims, idTokenClaims } from './token-claims.ts';
import { claimNameProblem, claimPathsProblem, mappedClaims } from './custom-claims.ts';
import { userInfoClaimNames } from './user-claims.ts';

const mapping = (name: string, attribute: string, ...targets: string[]) => ({
  name,
  attribute,
  path: [] as string[],
  type: '',
  list: '',
  rolePrefix: '',
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

  it('puts claims into objects, several into one, whatever these are called.', () => {
    const inObjects = [
      { ...mapping('realm', '', 'accessToken'), path: ['realm_access', 'roles'] },
      { ...mapping('shop', '', 'accessToken'), path: ['access', 'my.shop', 'roles'], rolePrefix: 'shop:' },
      { ...mapping('other', 'department', 'accessToken'), path: ['access', '__proto__', 'constructor'] },
    ];
    const person = { ...user, roles: ['clerk', 'shop:buyer'] };
    expect(JSON.parse(JSON.stringify(mappedClaims(inObjects, person, 'accessToken')))).toEqual(
      JSON.parse(
        '{"realm_access":{"roles":["clerk","shop:buyer"]},"access":{"my.shop":{"roles":["buyer"]},"__proto__":{"constructor":["Mathematics","Engines"]}}}',
      ),
    );
    expect({}).not.toHaveProperty('constructor.0');
  });

  it.each([
    ['number', '', '12.5', 12.5],
    ['number', 'always', '12', [12]],
    ['number', '', 'twelve', undefined],
    ['number', '', '', undefined],
    ['boolean', '', 'true', true],
    ['boolean', '', 'yes', undefined],
    ['json', '', '{"a":[1]}', { a: [1] }],
    ['json', '', '{', undefined],
    ['json', '', '[1e400]', undefined],
    ['json', '', `${'['.repeat(17)}${']'.repeat(17)}`, undefined],
    ['', 'always', 'one', ['one']],
    ['', 'first', ['one', 'two'], 'one'],
    ['number', '', ['1', 'x', '2'], [1, 2]],
    ['number', 'first', ['x', '2'], 2],
  ])('has values of the type %j, with lists %j: %j is %j.', (type, list, department, expected) => {
    const typed = [{ ...mapping('department', 'department', 'idToken'), type, list }];
    expect(mappedClaims(typed, { roles: [], attributes: { department } }, 'idToken')).toEqual(
      expected === undefined ? {} : { department: expected },
    );
  });

  it('leaves out what the user does not have.', () => {
    expect(mappedClaims(mappings, { roles: [] }, 'idToken')).toEqual({});
    expect(mappedClaims([], user, 'idToken')).toBeUndefined();
  });
});

describe('claimPathsProblem', () => {
  it.each([
    [['a'], ['a']],
    [['a', 'b'], ['a']],
    [['a'], ['a', 'b', 'c']],
  ])('refuses %j beside %j.', (one, other) => {
    expect(claimPathsProblem(one, other)).toBeTypeOf('string');
  });

  it.each([
    [
      ['a', 'b'],
      ['a', 'c'],
    ],
    [['a'], ['b']],
    [
      ['a', 'b', 'c'],
      ['a', 'c'],
    ],
  ])('allows %j beside %j.', (one, other) => {
    expect(claimPathsProblem(one, other)).toBeUndefined();
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
