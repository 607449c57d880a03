import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codeChallenge, isCodeChallenge, isCodeVerifier, verifierMatches } from './pkce.ts';

const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

const unreserved = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~'];
const verifiers = fc.string({ unit: fc.constantFrom(...unreserved), minLength: 43, maxLength: 128 });

describe('PKCE with S256 (RFC 7636)', () => {
  it('makes the challenge of appendix B.', () => {
    expect(codeChallenge(verifier)).toBe(challenge);
  });

  it('accepts the verifier behind a challenge and no other (§4.6).', () => {
    fc.assert(
      fc.property(verifiers, verifiers, (mine, other) => {
        expect(isCodeVerifier(mine)).toBe(true);
        expect(isCodeChallenge(codeChallenge(mine))).toBe(true);
        expect(verifierMatches(mine, codeChallenge(mine))).toBe(true);
        expect(verifierMatches(other, codeChallenge(mine))).toBe(mine === other);
      }),
    );
  });

  it.each([
    ['of 42 characters', 'a'.repeat(42)],
    ['of 129 characters', 'a'.repeat(129)],
    ['with a plus sign', `${'a'.repeat(43)}+`],
    ['with a padding sign', `${'a'.repeat(43)}=`],
    ['with a line feed at its end', `${'a'.repeat(43)}\n`],
    ['that is empty', ''],
    ['that is missing', undefined],
    ['that is null', null],
    ['that is a list', [verifier]],
  ])('refuses a verifier %s (§4.1), even with its own challenge.', (_case, value) => {
    expect(isCodeVerifier(value)).toBe(false);
    expect(verifierMatches(value, codeChallenge(String(value)))).toBe(false);
  });

  it.each(['', undefined, verifier.slice(1), `${challenge}=`, `${challenge}\n`, challenge.replace('-', '+')])(
    'never matches the malformed challenge %j, so that the check cannot be skipped.',
    (value) => {
      expect(isCodeChallenge(value)).toBe(false);
      expect(verifierMatches(verifier, value)).toBe(false);
    },
  );

  it('does not accept a verifier as its own challenge, as plain would (§4.2).', () => {
    expect(verifierMatches(verifier, verifier)).toBe(false);
  });
});
