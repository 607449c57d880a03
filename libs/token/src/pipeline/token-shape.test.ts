import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { orders, stock } from '../testing/declared-records.ts';
import { call, caller, codeOf, issuer, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

const clientId = 'stock-app';
const shapeOf = (token: string) => ({ typ: decodeProtectedHeader(token).typ, ...decodeJwt(token) });

describe('the access tokens of a resource with tokenType JWT and scopeFormat string', () => {
  const scopes = ['openid', 'offline_access', 'stock.read', 'stock.write'];
  const signIn = () => on.signIn({ clientId, scopes, resource: stock });

  it('have that shape from every grant, and at every refresh (RFC 9068 §2.2.3)', async () => {
    const first = await signIn();
    const shape = { typ: 'JWT', aud: stock, scope: scopes.join(' '), client_id: clientId };
    expect(shapeOf(first.accessToken)).toMatchObject(shape);
    expect(shapeOf((await on.refresh(first.refreshToken, clientId)).accessToken)).toMatchObject(shape);
    const own = await on.exchange(clientId, { grantType: 'client_credentials', scope: 'stock.read' });
    expect(shapeOf(own.accessToken)).toMatchObject({ ...shape, scope: 'stock.read' });
  });

  it('are verified by jose as a resource server does it (RFC 9068 §4)', async () => {
    const { accessToken, idToken } = await signIn();
    const { publicKey } = on.key;
    const rules = { issuer, typ: 'JWT', algorithms: ['RS256'], currentDate: new Date(on.clock.now()) };
    const requiredClaims = ['sub', 'exp', 'iat', 'jti', 'client_id', 'scope'];
    const verified = await jwtVerify(accessToken, publicKey, { ...rules, requiredClaims, audience: stock });
    expect(verified.payload).toMatchObject({ sub: 'ada', scope: scopes.join(' ') });
    const wrongAudience = { claim: 'aud' };
    await expect(jwtVerify(idToken, publicKey, { ...rules, audience: stock })).rejects.toMatchObject(
      wrongAudience,
    );
    await expect(jwtVerify(accessToken, publicKey, { ...rules, audience: clientId })).rejects.toMatchObject(
      wrongAudience,
    );
  });

  it('coexist with the default shape of other resources and of the issuer', async () => {
    for (const [scope, resource, aud] of [
      ['orders.read', orders, orders],
      ['openid', '', issuer],
    ] as const) {
      const { accessToken } = await on.signIn({ clientId, scopes: [scope], resource });
      expect(shapeOf(accessToken)).toMatchObject({ typ: 'at+jwt', aud, scope: [scope] });
    }
  });

  it('are introspected like any other, and accepted at userinfo', async () => {
    const { accessToken } = await signIn();
    expect(await on.introspect(accessToken)).toMatchObject({
      active: true,
      aud: stock,
      scope: scopes.join(' '),
      clientId,
    });
    expect(await on.token.userInfo({ accessToken, caller }, call())).toMatchObject({ sub: 'ada' });
  });

  it('never pass for the ID token that was issued with them, nor the reverse (RFC 8725 §3.11)', async () => {
    const { accessToken, idToken } = await signIn();
    const asHint = (token: string) => on.token.verifyIdTokenHint({ idToken: token, caller }, call());
    expect(await asHint(idToken)).toMatchObject({ valid: true, clientId });
    expect((await asHint(accessToken)).valid).toBe(false);
    expect((await on.introspect(idToken)).active).toBe(false);
    expect(await codeOf(on.token.userInfo({ accessToken: idToken, caller }, call()))).toBe('invalid_token');
  });
});
