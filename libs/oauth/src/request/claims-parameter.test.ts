import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noRequestedClaims, parseClaimsParameter } from './claims-parameter.ts';
import { OAuthError } from '../errors.ts';

const parse = (value: unknown) => parseClaimsParameter(JSON.stringify(value));

describe('parseClaimsParameter (OIDC Core §5.5)', () => {
  it('is empty without the parameter.', () => {
    expect(parseClaimsParameter(undefined)).toEqual(noRequestedClaims);
    expect(parseClaimsParameter('')).toEqual(noRequestedClaims);
    expect(parse({})).toEqual(noRequestedClaims);
    expect(parse({ userinfo: null, id_token: {} })).toEqual(noRequestedClaims);
  });

  it('reads the example of the specification, without what this server does not know.', () => {
    const example = {
      userinfo: {
        given_name: { essential: true },
        nickname: null,
        email: { essential: true },
        email_verified: { essential: true },
        picture: null,
        'http://example.info/claims/groups': null,
      },
      id_token: { auth_time: { essential: true }, acr: { values: ['urn:mace:incommon:iap:silver'] } },
      verified_claims: { anything: [1] },
    };
    expect(parse(example)).toEqual({
      userinfo: ['given_name', 'nickname', 'email', 'email_verified', 'picture'],
      idToken: [],
      subject: '',
      acrValues: [],
    });
  });

  it('takes one subject from either member (§5.5.1).', () => {
    expect(parse({ id_token: { sub: { value: 'u1' } } }).subject).toBe('u1');
    expect(parse({ userinfo: { sub: { values: ['u1'] } }, id_token: { sub: { value: 'u1' } } }).subject).toBe(
      'u1',
    );
    expect(parse({ userinfo: { sub: null, name: null } })).toMatchObject({ subject: '', userinfo: ['name'] });
  });

  it('accepts an essential acr that this server has or can choose, and a voluntary one (§5.5.1.1).', () => {
    for (const [acr, acrValues] of [
      [{ essential: true }, []],
      [{ essential: true, values: ['4', '2', '1'] }, ['1', '2']],
      [{ essential: true, value: '1' }, ['1']],
      [{ essential: true, value: '2' }, ['2']],
      [{ essential: true, value: '3' }, ['3']],
      [{ values: ['4'] }, []],
      [{ value: '2' }, []],
      [null, []],
    ] as const) {
      expect(parse({ id_token: { acr } })).toEqual({ ...noRequestedClaims, acrValues });
    }
  });

  it.each([
    { essential: true, value: '4' },
    { essential: true, values: ['4', 'phr'] },
  ])('fails the authentication if the essential acr %j cannot be met (§5.5.1.1).', (acr) => {
    expect(() => parse({ id_token: { acr } })).toThrowError(
      expect.objectContaining({ code: 'access_denied' }),
    );
  });

  it.each([
    'x',
    '[]',
    'null',
    '1',
    '"userinfo"',
    '{"userinfo":[]}',
    '{"id_token":"name"}',
    '{"userinfo":{"name":true}}',
    '{"userinfo":{"name":{"essential":"yes"}}}',
    '{"userinfo":{"name":{"values":"x"}}}',
    '{"id_token":{"sub":{"value":1}}}',
    '{"id_token":{"sub":{"values":["u1","u2"]}}}',
    '{"id_token":{"sub":{"value":"u1"}},"userinfo":{"sub":{"value":"u2"}}}',
    JSON.stringify({ userinfo: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`c${n}`, null])) }),
    '['.repeat(2048),
  ])('refuses %s.', (text) => {
    expect(() => parseClaimsParameter(text)).toThrowError(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  });

  it('returns or refuses any JSON, and never asks for more than known claims.', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        try {
          const { userinfo, idToken } = parseClaimsParameter(text);
          expect([...userinfo, ...idToken]).not.toContain('sub');
        } catch (error) {
          expect(error).toBeInstanceOf(OAuthError);
        }
      }),
    );
  });
});
