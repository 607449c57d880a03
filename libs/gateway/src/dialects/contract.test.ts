import { describe, expect, it } from 'vitest';
import { contract } from './contract.ts';

describe('a failure in the contract dialect', () => {
  it.each([
    ['code_verifier', 'codeVerifier'],
    ['redirect_uri', 'redirectUri'],
    ['refresh_token', 'refreshToken'],
    ['scope', 'scope'],
    ['unheard_of', 'unheard_of'],
  ])('names the missing parameter %s as %s', (sent, shown) => {
    expect(contract.failure('invalid_request', `The parameter ${sent} is missing.`)).toEqual({
      isSuccess: false,
      error: 'invalid_request',
      message: `The parameter ${shown} is missing.`,
    });
  });

  it('leaves every other message unchanged', () => {
    const message = 'The redirect_uri is not registered for this client.';
    expect(contract.failure('invalid_request', message)).toMatchObject({ message });
  });
});
