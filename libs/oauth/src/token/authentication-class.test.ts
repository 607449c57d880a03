import { describe, expect, it } from 'vitest';
import { acrOf, meetsAcr } from './authentication-class.ts';

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
});
