import { decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessTokenHash } from '@tessera/oauth';
import { labels, orders, parcels } from '../testing/declared-records.ts';
import { call, caller, issuer, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

const clientId = 'parcels-app';
const scopes = ['openid', 'offline_access', 'parcels.read'];
const algorithmOf = (token: string) => decodeProtectedHeader(token).alg;

describe('the access tokens of a resource with signingAlgorithm ES256', () => {
  const signIn = () => on.signIn({ clientId, scopes, resource: parcels });

  it('are signed with it by every grant and at every refresh, with the ID token in the same call', async () => {
    const calls = on.keys.signCalls.length;
    const first = await signIn();
    expect(on.keys.signCalls.slice(calls)).toEqual([2]);
    expect([first.accessToken, first.idToken].map(algorithmOf)).toEqual(['ES256', 'RS256']);
    const rules = { issuer, currentDate: new Date(on.clock.now()) };
    const access = { ...rules, audience: parcels, algorithms: ['ES256'], typ: 'at+jwt' };
    await jwtVerify(first.accessToken, on.es256.publicKey, access);
    const { payload } = await jwtVerify(first.idToken, on.key.publicKey, { ...rules, audience: clientId });
    expect(payload['at_hash']).toBe(accessTokenHash(first.accessToken));
    expect(algorithmOf((await on.refresh(first.refreshToken, clientId)).accessToken)).toBe('ES256');
    const own = await on.exchange(clientId, { grantType: 'client_credentials', scope: 'parcels.read' });
    expect(algorithmOf(own.accessToken)).toBe('ES256');
  });

  it('coexist with those with RS256 of other resources and of the issuer', async () => {
    for (const [scope, resource] of [
      ['orders.read', orders],
      ['openid', ''],
    ] as const) {
      const { accessToken } = await on.signIn({ clientId, scopes: [scope], resource });
      expect(algorithmOf(accessToken)).toBe('RS256');
    }
  });

  it('are introspected like any other, accepted at userinfo, and no ID token hint', async () => {
    const { accessToken, idToken } = await signIn();
    expect(await on.introspect(accessToken)).toMatchObject({ active: true, aud: parcels, clientId });
    expect(await on.token.userInfo({ accessToken, caller }, call())).toMatchObject({ sub: 'ada' });
    const asHint = (token: string) => on.token.verifyIdTokenHint({ idToken: token, caller }, call());
    expect(await asHint(idToken)).toMatchObject({ valid: true, clientId });
    expect((await asHint(accessToken)).valid).toBe(false);
  });

  it('are signed with RS256 while a keys process that knows no other algorithm signs, and valid', async () => {
    on.keys.knowsRs256Alone = true;
    const { accessToken, idToken } = await signIn();
    on.keys.knowsRs256Alone = false;
    expect([accessToken, idToken].map(algorithmOf)).toEqual(['RS256', 'RS256']);
    expect(await on.introspect(accessToken)).toMatchObject({ active: true, aud: parcels });
  });

  it('are signed with RS256 if the algorithm is of a newer version', async () => {
    const { accessToken } = await on.signIn({ clientId, scopes: ['labels.read'], resource: labels });
    expect(algorithmOf(accessToken)).toBe('RS256');
  });
});

describe('the ID tokens of an application with idTokenSigningAlgorithm ES256', () => {
  it('are signed with it, with the at_hash of an access token that is not, and are hints', async () => {
    await on.directory.changeApplication('web', { idTokenSigningAlgorithm: 'ES256' });
    const { accessToken, idToken } = await on.signIn();
    expect([accessToken, idToken].map(algorithmOf)).toEqual(['RS256', 'ES256']);
    const rules = { issuer, audience: 'web', algorithms: ['ES256'], currentDate: new Date(on.clock.now()) };
    const { payload } = await jwtVerify(idToken, on.es256.publicKey, rules);
    expect(payload['at_hash']).toBe(accessTokenHash(accessToken));
    const hint = await on.token.verifyIdTokenHint({ idToken, caller }, call());
    expect(hint).toMatchObject({ valid: true, clientId: 'web' });
    await on.directory.changeApplication('web', { idTokenSigningAlgorithm: 'none' });
    expect(algorithmOf((await on.signIn()).idToken)).toBe('RS256');
  });
});
