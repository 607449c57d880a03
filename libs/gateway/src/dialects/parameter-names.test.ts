import { describe, expect, it } from 'vitest';
import { contractNames, standardNames } from './parameter-names.ts';

describe('the names of parameters', () => {
  it('are those of the contract as they are inside', () => {
    expect(Object.fromEntries(contractNames)).toMatchObject({ code: 'code', refreshToken: 'refreshToken' });
  });

  it('are in snake_case in the standard dialect (RFC 6749, CIBA Core §7.1)', () => {
    expect(Object.fromEntries(standardNames)).toMatchObject({
      authReqId: 'auth_req_id',
      clientNotificationToken: 'client_notification_token',
      code: 'code',
      codeVerifier: 'code_verifier',
    });
  });

  it('are missing in the dialect that does not have the parameter', () => {
    expect(contractNames.has('loginHint')).toBe(false);
    expect(standardNames.has('reasonRevoked')).toBe(false);
  });
});
