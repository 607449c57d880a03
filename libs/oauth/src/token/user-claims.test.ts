import { describe, expect, it } from 'vitest';
import { userInfoClaims } from './user-claims.ts';

describe('userInfoClaims (OIDC Core §5.4)', () => {
  const user = {
    userId: 'u1',
    username: 'ada',
    name: 'Ada',
    email: 'ada@acme.example',
    phoneNumber: '+46701234567',
  };

  it.each([
    [['openid'], { sub: 'u1' }],
    [['openid', 'profile'], { sub: 'u1', name: 'Ada', preferred_username: 'ada' }],
    [['openid', 'email', 'orders.read'], { sub: 'u1', email: 'ada@acme.example' }],
    [['phone'], { sub: 'u1', phone_number: '+46701234567' }],
  ])('releases with %j exactly %j.', (scopes, claims) => {
    expect(userInfoClaims(user, scopes)).toEqual(claims);
  });

  it('omits claims that the user does not have.', () => {
    const bare = { userId: 'u1', username: '', name: '', email: '', phoneNumber: '' };
    expect(userInfoClaims(bare, ['openid', 'profile', 'email', 'phone'])).toEqual({ sub: 'u1' });
  });

  it.each([
    [['openid'], {}],
    [['profile'], { given_name: 'Ada', locale: 'en-GB', updated_at: 1_700_000_000 }],
    [['openid', 'email'], { email_verified: true }],
    [['phone'], { phone_number_verified: false }],
    [['address'], { address: { country: 'SE', postal_code: '111 22' } }],
  ])('releases with %j exactly the standard claims %j.', (scopes, claims) => {
    const standardClaims = {
      given_name: 'Ada',
      locale: 'en-GB',
      updated_at: 1_700_000_000,
      email_verified: true,
      phone_number_verified: false,
      address: { country: 'SE', postal_code: '111 22' },
    };
    const bare = { userId: 'u1', username: '', name: '', email: '', phoneNumber: '', standardClaims };
    expect(userInfoClaims(bare, scopes)).toEqual({ sub: 'u1', ...claims });
  });

  it('takes the user name for the preferred one, unless the user has declared one.', () => {
    const declared = { ...user, standardClaims: { preferred_username: 'countess' } };
    expect(userInfoClaims(user, ['profile']).preferred_username).toBe('ada');
    expect(userInfoClaims(declared, ['profile']).preferred_username).toBe('countess');
    expect(userInfoClaims(declared, ['openid', 'email'])).not.toHaveProperty('preferred_username');
  });

  it('refuses a token without identity scope: API scopes release no claims.', () => {
    expect(() => userInfoClaims(user, ['orders.read', 'offline_access'])).toThrowError(
      expect.objectContaining({ code: 'insufficient_scope', status: 403 }),
    );
  });
});
