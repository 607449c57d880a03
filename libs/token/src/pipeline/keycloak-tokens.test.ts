import { decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { billing, orders } from '../testing/declared-records.ts';
import { addHarbour, atHarbour, atHarbourToken, harbourIssuer, harbourSignIn } from '../testing/harbour.ts';
import { call, caller, claimsOf, codeOf, credentialsOf, world, type World } from '../testing/world.ts';
import { redirectUri, verifier, type FakeGrant } from '../testing/fake-authorize.ts';

let on: World;
beforeAll(async () => {
  on = await world();
  await addHarbour(on);
});
afterAll(() => on.close());

const several = {
  scopes: ['openid', 'profile', 'email', 'offline_access', 'orders.read', 'billing.read'],
  resource: `${orders} ${billing}`,
};
const introspect = (token: string, clientId = 'harbour-web') =>
  on.introspection.introspect({ token, caller: atHarbour, credentials: credentialsOf(clientId) }, call());

describe('the tokens of a tenant with endpoints: keycloak', () => {
  it('say what those of Keycloak say, in a JOSE header and claims that its applications read', async () => {
    const { accessToken, idToken } = await harbourSignIn(on);
    expect(decodeProtectedHeader(accessToken)).toMatchObject({ alg: 'RS256', typ: 'JWT' });
    const { exp, iat, jti, ...claims } = claimsOf(accessToken);
    expect([typeof exp, typeof iat, typeof jti]).toEqual(['number', 'number', 'string']);
    expect(claims).toEqual({
      iss: harbourIssuer,
      sub: 'eva',
      aud: ['harbour-web', 'account'],
      typ: 'Bearer',
      azp: 'harbour-web',
      client_id: 'harbour-web',
      tenant_id: 'harbour',
      sid: 'session-1',
      scope: 'openid profile email offline_access',
      auth_time: 1_700_000_000,
      acr: '1',
      role: ['clerk'],
      realm_access: { roles: ['clerk'] },
      preferred_username: 'eva.lund',
      name: 'Eva Lund',
      given_name: 'Eva',
      family_name: 'Lund',
      email: 'eva@harbour.example',
      email_verified: true,
    });
    expect(decodeProtectedHeader(idToken)).toMatchObject({ typ: 'JWT' });
    expect(claimsOf(idToken)).toMatchObject({
      aud: 'harbour-web',
      azp: 'harbour-web',
      typ: 'ID',
      sid: 'session-1',
    });
  });

  it('have claims of a person by the granted scopes alone', async () => {
    const { accessToken } = await harbourSignIn(on, { scopes: ['openid'] });
    const claims = claimsOf(accessToken);
    expect(claims).toMatchObject({ scope: 'openid', sub: 'eva' });
    for (const name of ['preferred_username', 'name', 'given_name', 'email'])
      expect(claims).not.toHaveProperty(name);
  });

  it('name the roles of somebody without any as an empty list, and those of a service', async () => {
    const { accessToken } = await harbourSignIn(on, { userId: 'finn' });
    expect(claimsOf(accessToken)).toMatchObject({ realm_access: { roles: [] } });
    const own = await atHarbourToken(on, { grantType: 'client_credentials' });
    expect(own.scope).toBe('');
    const { sub, aud, scope, typ, azp, sid, realm_access: access } = claimsOf(own.accessToken);
    expect({ sub, aud, scope, typ, azp, sid, access }).toEqual({
      sub: 'harbour-web',
      aud: ['harbour-web', 'account'],
      scope: '',
      typ: 'Bearer',
      azp: 'harbour-web',
      sid: undefined,
      access: { roles: [] },
    });
    expect(await introspect(own.accessToken)).toMatchObject({ active: true, scope: '' });
  });

  it('are for several resources at once, which a refresh keeps or narrows (RFC 7519 §4.1.3)', async () => {
    const first = await harbourSignIn(on, several);
    const all = [orders, billing, 'harbour-web', 'account'];
    expect(claimsOf(first.accessToken)).toMatchObject({ aud: all, scope: several.scopes.join(' ') });
    const refreshed = (refreshToken: string, scope = '') =>
      atHarbourToken(on, { grantType: 'refresh_token', refreshToken, scope });
    const second = await refreshed(first.refreshToken);
    expect(claimsOf(second.accessToken)['aud']).toEqual(all);
    const third = await refreshed(second.refreshToken, 'openid billing.read');
    expect(third.scope).toBe('openid profile email billing.read');
    expect(claimsOf(third.accessToken)['aud']).toEqual([billing, 'harbour-web', 'account']);
  });

  it('have audiences of roles where they name such a role', async () => {
    await on.directory.changeApplication('harbour-web', { audiences: ['mail:*', 'ships:*'] });
    on.directory.addUser('liv', { tenantId: 'harbour', roles: ['mail:read', 'clerk'] });
    const audOf = async (userId: string) =>
      claimsOf((await harbourSignIn(on, { userId })).accessToken)['aud'];
    expect([await audOf('liv'), await audOf('finn')]).toEqual(['mail', harbourIssuer]);
    await on.directory.changeApplication('harbour-web', { audiences: ['harbour-web', 'account'] });
  });

  it('are one text as aud where there is one audience', async () => {
    await on.directory.changeApplication('harbour-web', { audiences: [] });
    const { accessToken } = await harbourSignIn(on, { scopes: ['openid', 'orders.read'], resource: orders });
    expect(claimsOf(accessToken)['aud']).toBe(orders);
    expect(claimsOf((await harbourSignIn(on)).accessToken)['aud']).toBe(harbourIssuer);
    await on.directory.changeApplication('harbour-web', { audiences: ['harbour-web', 'account'] });
  });

  it('for this server itself have no other audience, and its shape', async () => {
    const own = await atHarbourToken(on, { grantType: 'client_credentials', scope: 'tokens.introspect' });
    expect(decodeProtectedHeader(own.accessToken)).toMatchObject({ typ: 'at+jwt' });
    expect(claimsOf(own.accessToken)).toMatchObject({ aud: harbourIssuer, scope: ['tokens.introspect'] });
    const both = { grantType: 'client_credentials', scope: 'tokens.introspect orders.read' };
    expect(await codeOf(atHarbourToken(on, both))).toBe('invalid_scope');
  });

  it('are introspected with all audiences, by their own application and each API that has one of them', async () => {
    const { accessToken } = await harbourSignIn(on, several);
    on.directory.addApplication('billing-api', { tenantId: 'harbour', introspectAudiences: [billing] });
    on.directory.addApplication('mail-api', { tenantId: 'harbour', introspectAudiences: ['https://mail'] });
    const audiences = [orders, billing, 'harbour-web', 'account'];
    for (const clientId of ['harbour-web', 'billing-api'])
      expect(await introspect(accessToken, clientId)).toMatchObject({ active: true, aud: orders, audiences });
    expect((await introspect(accessToken, 'mail-api')).active).toBe(false);
  });

  it('are accepted at userinfo, which names the roles of somebody without any', async () => {
    await on.directory.changeApplication('harbour-web', (record) => {
      for (const claim of record.claims ?? []) claim.userinfo = true;
    });
    const { accessToken } = await harbourSignIn(on, { userId: 'finn' });
    const { claims } = await on.token.userInfo({ accessToken, caller: atHarbour }, call());
    expect(claims).toMatchObject({ realm_access: { roles: [] } });
  });

  it('never pass for each other, though the client is an audience of both (RFC 8725 §3.11)', async () => {
    const { accessToken, idToken } = await harbourSignIn(on);
    const asHint = (token: string) =>
      on.token.verifyIdTokenHint({ idToken: token, caller: atHarbour }, call());
    expect(await asHint(idToken)).toMatchObject({
      valid: true,
      clientId: 'harbour-web',
      sessionId: 'session-1',
    });
    expect((await asHint(accessToken)).valid).toBe(false);
    expect((await introspect(idToken)).active).toBe(false);
    const info = on.token.userInfo({ accessToken: idToken, caller: atHarbour }, call());
    expect(await codeOf(info)).toBe('invalid_token');
  });

  it('whose roles a resource limits have those of all limits alone', async () => {
    on.directory.addUser('gro', { tenantId: 'harbour', roles: ['clerk', 'boss', 'guest'] });
    await on.directory.changeApplication('harbour-web', (record) => {
      for (const scope of record.scopes ?? []) {
        if (scope.audience === orders) scope.roles = ['clerk', 'boss'];
        if (scope.audience === billing) scope.roles = ['clerk', 'guest'];
      }
    });
    const { accessToken } = await harbourSignIn(on, { ...several, userId: 'gro' });
    expect(claimsOf(accessToken)).toMatchObject({ role: ['clerk'], realm_access: { roles: ['clerk'] } });
  });
});

function redeemAt(at: World, where: typeof caller, grant: Partial<FakeGrant>) {
  const code = at.newCode(grant);
  const request = { grantType: 'authorization_code', code, codeVerifier: verifier, redirectUri };
  return at.token.exchange({ ...request, caller: where, credentials: credentialsOf('harbour-web') }, call());
}

const payloadOf = (token: string) => Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');

describe('the tokens of any other tenant', () => {
  it.each([
    ['endpoints: keycloak at the shared issuer', { issuer: '', endpoints: 'keycloak' }, caller],
    ['an issuer of its own', { issuer: harbourIssuer, endpoints: 'standard' }, atHarbour],
  ])(
    'with %s are those of the contract, to the byte, whatever the application declares',
    async (_, tenant, at) => {
      const other = await world();
      await addHarbour(other);
      other.directory.addTenant('harbour', tenant);
      const grant = { tenantId: 'harbour', clientId: 'harbour-web', userId: 'eva', issuer: at.issuer };
      const scopes = ['openid', 'profile', 'email', 'orders.read'];
      const { accessToken, idToken } = await redeemAt(other, at, { ...grant, scopes, resource: orders });
      const { exp, iat, jti } = claimsOf(accessToken);
      expect(decodeProtectedHeader(accessToken).typ).toBe('at+jwt');
      expect(payloadOf(accessToken)).toBe(
        JSON.stringify({
          iss: at.issuer,
          aud: orders,
          sub: 'eva',
          client_id: 'harbour-web',
          scope: scopes,
          role: ['clerk'],
          exp,
          iat,
          jti,
          tenant_id: 'harbour',
          auth_time: 1_700_000_000,
          acr: '1',
        }).replace('{', '{"realm_access":{"roles":["clerk"]},'),
      );
      const { exp: idExp, iat: idIat, at_hash: atHash } = claimsOf(idToken);
      expect(payloadOf(idToken)).toBe(
        JSON.stringify({
          iss: at.issuer,
          sub: 'eva',
          aud: 'harbour-web',
          exp: idExp,
          iat: idIat,
          auth_time: 1_700_000_000,
          nonce: 'n-0S6_WzA2Mj',
          sid: 'session-1',
          acr: '1',
          amr: ['pwd'],
          at_hash: atHash,
        }),
      );
      await other.close();
    },
  );
});
