import { describe, expect, it } from 'vitest';
import {
  acrOf,
  acrValues,
  authenticationPolicies,
  meetsAcr,
  meetsPolicy,
  neededFactors,
} from './authentication-class.ts';

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
    ['of a later version', ['swk', 'user', 'mfa'], true],
  ])('is enough for the policy %j after %j: %s', (policy, methods, isMet) => {
    expect(meetsPolicy(policy, methods)).toBe(isMet);
  });

  const none = { needsTwoFactors: false, needsPhishingResistance: false };
  const two = { needsTwoFactors: true, needsPhishingResistance: false };
  const strongest = { needsTwoFactors: true, needsPhishingResistance: true };
  it.each([
    [[], [], none],
    [['', 'any'], ['1'], none],
    [['any', 'second-factor'], [], two],
    [['any'], ['1', '2'], two],
    [['phishing-resistant', 'second-factor'], ['1'], strongest],
    [['any'], ['3'], strongest],
    [['any', 'of a later version'], [], strongest],
    [['second-factor'], ['of a later version'], strongest],
  ])('asked for by the policies %j and the classes %j needs %j', (policies, classes, needed) => {
    expect(neededFactors(policies, classes)).toEqual(needed);
  });

  it('has a class for each policy', () => {
    expect(authenticationPolicies).toHaveLength(acrValues.length);
  });
});
