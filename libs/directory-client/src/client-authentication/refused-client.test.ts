import { expect, it } from 'vitest';
import { receivedAudience } from './refused-client.ts';

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const withAudience = (aud: unknown): string =>
  `${part({ alg: 'ES256' })}.${part({ aud, sub: 'robot', iss: 'https://issuer.example' })}.c2ln`;

it.each([
  ['one text', 'https://api.example', 'https://api.example'],
  ['a list', ['https://api.example', 'vault'], 'https://api.example vault'],
  ['more than three', ['a', 'b', 'c', 'd', 'e'], 'a b c and 2 more'],
  ['a list with something else than texts', [7, 'a', null, ['b']], 'a'],
  [
    'a user, a query and a fragment',
    'https://me:it@api.example/a?key=it#it',
    'https://api.example/a?key=...',
  ],
  ['no text', { a: 1 }, undefined],
  ['an empty list', [], undefined],
  ['nothing', undefined, undefined],
])('says of the audience of an assertion with %s what a log may have', (_what, aud, said) => {
  expect(receivedAudience(withAudience(aud))).toBe(said);
});

it('says at most 200 characters of an audience, and nothing of what is no JWT', () => {
  expect(receivedAudience(withAudience(['x'.repeat(5_000), 'y'.repeat(5_000)]))).toBe(
    `${'x'.repeat(200)}...`,
  );
  expect(receivedAudience(withAudience(Array.from({ length: 9 }, () => 'x'.repeat(150))))?.length).toBe(203);
  for (const text of ['', 'a.b.c', 'e30', `${part({ alg: 'ES256' })}.${part([])}.c`])
    expect(receivedAudience(text)).toBeUndefined();
});
