import { temporarilyUnavailable } from '@tessera/oauth';
import { TokenType } from '@tessera/proto-gen/keys';
import { describe, expect, it } from 'vitest';
import { createSigner } from './signer.ts';
import { FakeKeys, testKey } from './testing/keys.ts';
import { claimsOf, codeOf } from './testing/world.ts';

const key = testKey('key-1');

function setUp() {
  const keys = new FakeKeys(key);
  const signer = createSigner(keys.peer());
  return { keys, sign: (sub: string) => signer.sign(TokenType.ACCESS_TOKEN, { sub }, {}) };
}

describe('the signer', () => {
  it('gathers what is asked for in one turn into one call and gives everyone its own token', async () => {
    const { keys, sign } = setUp();
    const subjects = Array.from({ length: 20 }, (_, index) => `user-${index}`);
    const tokens = await Promise.all(subjects.map(sign));
    expect(tokens.map((token) => claimsOf(token)['sub'])).toEqual(subjects);
    expect(keys.signCalls).toEqual([20]);
    await sign('later');
    expect(keys.signCalls).toEqual([20, 1]);
  });

  it('bounds the items of one call', async () => {
    const { keys, sign } = setUp();
    await Promise.all(Array.from({ length: 150 }, (_, index) => sign(`user-${index}`)));
    expect(keys.signCalls).toEqual([64, 64, 22]);
  });

  it('lets an item that cannot be signed fail alone', async () => {
    const { keys, sign } = setUp();
    keys.refused = 'user-1"';
    const outcomes = await Promise.allSettled(['user-0', 'user-1', 'user-2'].map(sign));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('tells everyone when the keys service is away, and asks it once', async () => {
    const { keys, sign } = setUp();
    keys.line.cut = true;
    const codes = await Promise.all(['a', 'b', 'c'].map((sub) => codeOf(sign(sub))));
    expect(new Set(codes)).toEqual(new Set([temporarilyUnavailable().code]));
    expect(keys.signCalls).toEqual([]);
  });
});
