import { expect, it } from 'vitest';
import { audienceOfEntry, audiencesIn, audiencesWithRoles, resourcesIn } from './audiences.ts';

it('the resources of a grant and the audiences of a token are none, one or several (RFC 7519 §4.1.3)', () => {
  expect(['', 'a', 'a b'].map(resourcesIn)).toEqual([[], ['a'], ['a', 'b']]);
  expect([audiencesIn('a'), audiencesIn(['a', 'b'])]).toEqual([['a'], ['a', 'b']]);
});

it('audiences of roles are those of tokens that name such a role', () => {
  const entries = ['account', 'orders:*', 'mail:*'];
  expect(audiencesWithRoles(entries, ['orders:read', 'mailer:x', 'mail'])).toEqual(['account', 'orders']);
  expect(audiencesWithRoles(entries, [])).toEqual(['account']);
  expect(entries.map(audienceOfEntry)).toEqual(['account', 'orders', 'mail']);
});
