import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RedisHandle } from '@tessera/stores';
import { counting, testRedis, type Counter } from '@tessera/test-kit';
import { call, caller, credentialsOf, world, type World } from './testing/world.ts';

let on: World;
let redis: RedisHandle & Counter;
beforeAll(async () => {
  redis = counting(await testRedis());
  on = await world({ runtime: { redis } });
});
afterAll(() => on.close());

/**
 * Statements of the request itself: audit rows of what changes no state are written later, together, and the feed of
 * revocations is read all the time.
 */
const statements = () =>
  on.database.names.filter((name) => name.startsWith('token.') && !name.startsWith('token.revocation_'));

/** Runs warm work and says what it asked of the stores. */
async function cost(work: () => Promise<unknown>) {
  const reads = on.directory.reads;
  const signed = on.keys.signCalls.length;
  on.database.reset();
  redis.reset();
  await work();
  return {
    sql: statements(),
    redis: redis.count,
    directory: on.directory.reads - reads,
    sign: on.keys.signCalls.slice(signed),
  };
}

const nothing = { sql: [], redis: 0, directory: 0, sign: [] };

describe('the cost of an operation with warm caches', () => {
  beforeEach(async () => {
    const { refreshToken, accessToken } = await on.signIn();
    await on.refresh(refreshToken);
    await on.token.userInfo({ accessToken, caller }, call());
    await on.exchange('web', { grantType: 'client_credentials' });
    await on.introspect(accessToken, 'orders-api');
  });

  it('is one signature for client credentials', async () => {
    const asked = () => on.exchange('web', { grantType: 'client_credentials' });
    expect(await cost(asked)).toEqual({ ...nothing, sign: [1] });
  });

  it('is nothing for the introspection of an access token, verified before or not', async () => {
    const { accessToken } = await on.signIn();
    for (let time = 0; time < 2; time += 1) {
      expect(await cost(() => on.introspect(accessToken))).toEqual(nothing);
      expect(await cost(() => on.introspect(accessToken, 'orders-api'))).toEqual(nothing);
    }
  });

  it('is one statement for the introspection of a refresh token', async () => {
    const { refreshToken } = await on.signIn();
    expect(await cost(() => on.introspect(refreshToken))).toEqual({ ...nothing, sql: ['token.find_live'] });
  });

  it('is one statement for a refresh, and two for a repeated one', async () => {
    const { refreshToken } = await on.signIn();
    const asked = () => on.refresh(refreshToken);
    expect(await cost(asked)).toEqual({ ...nothing, sql: ['token.rotate'], sign: [2] });
    expect(await cost(asked)).toEqual({
      ...nothing,
      sql: ['token.rotate', 'token.settle_rotation'],
      sign: [2],
    });
  });

  it('is one statement for a code, with refresh token, ID token and audit rows', async () => {
    const code = on.newCode();
    expect(await cost(() => on.redeem(code))).toEqual({ ...nothing, sql: ['token.redeem'], sign: [2] });
  });

  it('is one statement for a replayed code', async () => {
    const code = on.newCode();
    await on.redeem(code);
    const replay = () => on.redeem(code).catch(() => undefined);
    expect(await cost(replay)).toEqual({ ...nothing, sql: ['token.replay'] });
  });

  it('is nothing for userinfo', async () => {
    const { accessToken } = await on.signIn();
    expect(await cost(() => on.token.userInfo({ accessToken, caller }, call()))).toEqual(nothing);
  });

  it('is one statement for a revocation', async () => {
    const { refreshToken } = await on.signIn();
    const revoke = { token: refreshToken, caller, credentials: credentialsOf('web') };
    expect(await cost(() => on.token.revoke(revoke, call()))).toEqual({ ...nothing, sql: ['token.revoke'] });
  });

  it('is one Sign call for the tokens of the same turn', async () => {
    const asked = () =>
      Promise.all(Array.from({ length: 16 }, () => on.exchange('web', { grantType: 'client_credentials' })));
    expect(await cost(asked)).toEqual({ ...nothing, sign: [16] });
  });
});
