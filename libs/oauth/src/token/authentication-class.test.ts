import { describe, expect, it } from 'vitest';
import { acrOf, meetsAcr, meetsPolicy } from './authentication-class.ts';

describe('the class of a sign-in (OIDC Core §2)', () => {
  it.each([
    [[], undefined],
    [['pwd'], '1'],
    [['pwd', 'otp', 'mfa'], '2'],
    [['hwk'], '1'],
    [['swk', 'user', 'mfa'], '3'],
    [['pwd', 'hwk', 'user', 'mfa'], '3'],
  ])('of the methods %j is %s', (methods, acr) => {
    expect(acrOf(methods)).toBe(acr);
  });

  it.each([
    ['1', ['1'], true],
    ['2', ['1'], true],
    ['2', ['2', 'urn:other'], true],
    ['3', ['2'], true],
    ['1', ['2'], false],
    ['2', ['3'], false],
    ['2', ['urn:other'], false],
    ['', ['1'], false],
    ['', [], false],
  ])('%j meets %j: %s', (acr, asked, isMet) => {
    expect(meetsAcr(acr, asked)).toBe(isMet);
  });

  it.each([
    ['', [], true],
    ['any', ['pwd'], true],
    ['second-factor', ['pwd'], false],
    ['second-factor', ['pwd', 'otp', 'mfa'], true],
    ['second-factor', ['swk', 'user', 'mfa'], true],
    ['phishing-resistant', ['pwd', 'otp', 'mfa'], false],
    ['phishing-resistant', ['swk', 'user', 'mfa'], true],
    ['of a later version', ['pwd', 'otp', 'mfa'], false],
  ])('is enough for the policy %j after %j: %s', (policy, methods, isMet) => {
    expect(meetsPolicy(policy, methods)).toBe(isMet);
  });
});
