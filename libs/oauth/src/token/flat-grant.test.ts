import { describe, expect, it } from 'vitest';
import { flatGrant, userGrantFields } from './flat-grant.ts';

const flat = {
  tenantId: 'acme',
  clientId: 'web',
  userId: 'u1',
  scopes: ['openid'],
  resource: '',
  issuer: 'https://id.example',
  sessionId: 's1',
  nonce: 'n',
  authTime: 990n,
  userinfoClaims: ['name'],
  idTokenClaims: ['email'],
};

describe('a flat grant', () => {
  it('has the password as its method if there was a session, and none otherwise', () => {
    expect(userGrantFields(flat).authentication).toEqual({ time: 990, methods: ['pwd'] });
    expect(userGrantFields({ ...flat, sessionId: '' }).authentication).toEqual({ time: 990, methods: [] });
  });

  it('requests no claims by name if it comes from device', () => {
    const { userinfoClaims: _, idTokenClaims: __, ...ofDevice } = flat;
    expect(userGrantFields(ofDevice)).toMatchObject({ userinfoClaims: [], idTokenClaims: [] });
  });

  it('is the same after the way there and back', () => {
    expect(flatGrant(userGrantFields(flat))).toEqual(flat);
  });
});
