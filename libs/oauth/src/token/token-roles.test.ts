import { describe, expect, it } from 'vitest';
import { namedRoles } from './token-roles.ts';

describe('the roles that a token names', () => {
  const held = ['b', 'a', 'c'];

  it.each([
    [[], ['b', 'a', 'c']],
    [[[]], ['b', 'a', 'c']],
    [[['a', 'b', 'x']], ['b', 'a']],
    [
      [['a', 'b'], []],
      ['b', 'a'],
    ],
    [
      [
        ['a', 'b'],
        ['b', 'c'],
      ],
      ['b'],
    ],
    [[['a'], ['b']], []],
    [[['x']], []],
  ])('with the lists %j are %j.', (lists, named) => {
    expect(namedRoles(held, ...lists)).toEqual(named);
  });
});
