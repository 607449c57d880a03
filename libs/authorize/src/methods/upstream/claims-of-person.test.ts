import { expect, test } from 'vitest';
import { identityOf, mappedOf, personOf } from './claims-of-person.ts';

const issuer = 'https://corp.example';
const answer = (claims: object) => ({
  idToken: '',
  claims: { iss: issuer, sub: 'ada', ...claims },
  userInfo: undefined,
});

test('an identity is what the provider says, and a `sub` that no store takes is nobody', () => {
  expect(identityOf(answer({}))).toEqual({ issuer, subject: 'ada' });
  expect(identityOf(answer({ sub: 'a\0b' }))).toEqual({ issuer, subject: '' });
  expect(identityOf(answer({ sub: '\ud800' }))).toEqual({ issuer, subject: '' });
});

test('a claim with a text that no store takes is as good as none', () => {
  const said = { email: 'a\0@corp.example', name: 'Ada', given_name: '\udfff', family_name: 'L' };
  expect(personOf(answer(said))).toMatchObject({ email: '', name: 'Ada', givenName: '', familyName: 'L' });
});

test('of mapped claims, what a mapping reads is left, and each stays known', () => {
  const said = {
    groups: ['finance', 'a\0b', { name: '\0' }, 7, true, null],
    dept: '\ud800',
    site: { '\0': 'x' },
    level: 3,
    other: 'not mapped',
  };
  const names = ['groups', 'dept', 'site', 'level', 'absent'];
  expect(mappedOf(answer(said), names)).toEqual({
    claims: { groups: ['finance', 7, true], dept: null, site: null, level: 3 },
    knownClaims: names,
  });
});
