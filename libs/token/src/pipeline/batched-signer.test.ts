import { accessTokenHash, temporarilyUnavailable } from '@tessera/oauth';
import { TokenType } from '@tessera/proto-gen/keys';
import type { CallOptions } from '@tessera/rpc';
import { describe, expect, it } from 'vitest';
import { createSigner } from './batched-signer.ts';
import { FakeKeys, testKey } from '../testing/fake-keys.ts';
import { claimsOf, codeOf } from '../testing/world.ts';

const key = testKey('key-1');

function setUp() {
  const keys = new FakeKeys(key);
  const signer = createSigner(keys.peer());
  const sign = async (sub: string, options: CallOptions = {}) => {
    const [token = ''] = await signer.sign([{ type: TokenType.ACCESS_TOKEN, claims: { sub } }], options, '');
    return token;
  };
  const signPair = (sub: string) =>
    signer.sign(
      [
        { type: TokenType.ACCESS_TOKEN, claims: { sub } },
        { type: TokenType.ID_TOKEN, claims: { sub }, atHashOf: 0 },
      ],
      {},
      '',
    );
  return { keys, sign, signPair };
}

describe('the signer', () => {
  it('combines the requests of one turn of the event loop into one call and gives each its own token', async () => {
    const { keys, sign } = setUp();
    const subjects = Array.from({ length: 20 }, (_, index) => `user-${index}`);
    const tokens = await Promise.all(subjects.map((sub) => sign(sub)));
    expect(tokens.map((token) => claimsOf(token)['sub'])).toEqual(subjects);
    expect(keys.signCalls).toEqual([20]);
    await sign('later');
    expect(keys.signCalls).toEqual([20, 1]);
  });

  it('signs an access token and the ID token with its hash in one call (OIDC Core section 3.1.3.6)', async () => {
    const { keys, sign, signPair } = setUp();
    const pairs = Promise.all(['ada', 'bob'].map(signPair));
    const single = sign('eve');
    for (const [accessToken = '', idToken = ''] of await pairs) {
      expect(claimsOf(idToken)).toEqual({
        sub: claimsOf(accessToken)['sub'],
        at_hash: accessTokenHash(accessToken),
      });
    }
    expect(claimsOf(await single)).toEqual({ sub: 'eve' });
    expect(keys.signCalls).toEqual([5]);
  });

  it('keeps the tasks of one request in one call when it splits a batch', async () => {
    const { keys, sign, signPair } = setUp();
    const [, ...pairs] = await Promise.all([
      sign('first'),
      ...Array.from({ length: 40 }, () => signPair('ada')),
    ]);
    for (const [accessToken = '', idToken = ''] of pairs) {
      expect(claimsOf(idToken)['at_hash']).toBe(accessTokenHash(accessToken));
    }
    expect(keys.signCalls).toEqual([63, 18]);
  });

  it('bounds the items of one call', async () => {
    const { keys, sign } = setUp();
    await Promise.all(Array.from({ length: 150 }, (_, index) => sign(`user-${index}`)));
    expect(keys.signCalls).toEqual([64, 64, 22]);
  });

  it('does not cancel a shared call when one of its requests is, and gives it the longest time of them', async () => {
    const cancelled = { signal: AbortSignal.abort(), timeoutMs: 1_000 };
    const patient = { timeoutMs: 60_000 };
    for (const options of [
      [cancelled, patient],
      [patient, cancelled],
    ]) {
      const { keys, sign } = setUp();
      const started = Date.now();
      const tokens = await Promise.all(options.map((each, index) => sign(`user-${index}`, each)));
      expect(tokens.map((token) => claimsOf(token)['sub'])).toEqual(['user-0', 'user-1']);
      expect(keys.deadlines).toHaveLength(1);
      expect((keys.deadlines[0] ?? 0) - started).toBeGreaterThan(30_000);
    }
  });

  it('cancels a call of its own with its request', async () => {
    const { keys, sign } = setUp();
    await expect(sign('ada', { signal: AbortSignal.abort() })).rejects.toThrow();
    expect(keys.signCalls).toEqual([]);
  });

  it('fails only the request whose item cannot be signed', async () => {
    const { keys, sign } = setUp();
    keys.refused = 'user-1"';
    const outcomes = await Promise.allSettled(['user-0', 'user-1', 'user-2'].map((sub) => sign(sub)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('fails every request of a batch while keys is unavailable, with one call', async () => {
    const { keys, sign } = setUp();
    keys.line.cut = true;
    const codes = await Promise.all(['a', 'b', 'c'].map((sub) => codeOf(sign(sub))));
    expect(new Set(codes)).toEqual(new Set([temporarilyUnavailable().code]));
    expect(keys.signCalls).toEqual([]);
  });
});
