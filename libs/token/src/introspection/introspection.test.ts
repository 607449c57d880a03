import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Status } from '@tessera/proto-gen/directory';
import { TokenKind } from '@tessera/proto-gen/token';
import { orders } from '../testing/declared-records.ts';
import { signedToken, testKey } from '../testing/fake-keys.ts';
import {
  call,
  caller,
  claimsOf,
  codeOf,
  credentialsOf,
  grantOf,
  issuer,
  world,
  type World,
} from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

/** The fields of an answer that have a value. */
const said = (answer: object) =>
  Object.fromEntries(
    Object.entries(answer).filter(
      ([name, value]) =>
        !name.startsWith('$') &&
        value !== '' &&
        value !== 0 &&
        value !== 0n &&
        !(Array.isArray(value) && value.length === 0),
    ),
  );

describe('introspection', () => {
  it('describes an active access token (RFC 7662 section 2.2)', async () => {
    const { accessToken } = await on.signIn();
    const { exp, iat, jti } = claimsOf(accessToken);
    expect(said(await on.introspect(accessToken))).toEqual({
      active: true,
      kind: TokenKind.ACCESS_TOKEN,
      sub: 'ada',
      clientId: 'web',
      scope: 'openid profile offline_access orders.read orders.write',
      exp: BigInt(Number(exp)),
      iat: BigInt(Number(iat)),
      iss: issuer,
      aud: orders,
      tenantId: 'acme',
      role: ['clerk'],
      jti,
      authTime: 1_700_000_000n,
      acr: '1',
      username: 'ada',
      cacheSeconds: 60,
    });
  });

  it('says when and in which class the person signed in, the same after a refresh (RFC 9470 §6.2)', async () => {
    const { accessToken, refreshToken } = await on.signIn();
    const { accessToken: later } = await on.refresh(refreshToken);
    const signIn = { auth_time: 1_700_000_000, acr: '1' };
    for (const token of [accessToken, later]) expect(claimsOf(token)).toMatchObject(signIn);
    const { accessToken: own } = await on.exchange('service', {
      grantType: 'client_credentials',
      resource: orders,
    });
    expect(claimsOf(own)).not.toHaveProperty('auth_time');
    expect(await on.introspect(own)).toMatchObject({ active: true, authTime: 0n, acr: '' });
  });

  it('has the user name of the person and none for client credentials (RFC 7662 §2.2)', async () => {
    on.directory.addUser('u-17', { username: 'ada@acme.example' });
    const { accessToken, refreshToken } = await on.signIn({ userId: 'u-17' });
    for (const token of [accessToken, refreshToken]) {
      expect(await on.introspect(token)).toMatchObject({ sub: 'u-17', username: 'ada@acme.example' });
    }
    on.directory.addUser('service', { username: 'namesake' });
    const { accessToken: own } = await on.exchange('service', {
      grantType: 'client_credentials',
      resource: orders,
    });
    expect((await on.introspect(own)).username).toBeUndefined();
  });

  it('leaves the user name out while the directory is unavailable, and lets nobody keep that answer', async () => {
    on.directory.addUser('u-18', {});
    const { accessToken } = await on.signIn({ userId: 'u-18' });
    await on.directory.changeUser('u-18', (user) => (user.username = 'renamed'));
    on.directory.unavailable = true;
    try {
      const answer = await on.introspect(accessToken);
      expect(said(answer)).toMatchObject({ active: true, sub: 'u-18' });
      expect([answer.username, answer.cacheSeconds]).toEqual([undefined, 0]);
    } finally {
      on.directory.unavailable = false;
    }
    expect(await on.introspect(accessToken)).toMatchObject({ username: 'renamed', cacheSeconds: 60 });
  });

  it('describes the live token of a refresh family and no earlier one', async () => {
    const { refreshToken } = await on.signIn();
    const answer = await on.introspect(refreshToken);
    expect(said(answer)).toMatchObject({
      active: true,
      kind: TokenKind.REFRESH_TOKEN,
      sub: 'ada',
      clientId: 'web',
      scope: 'openid profile offline_access orders.read orders.write',
      iss: issuer,
      tenantId: 'acme',
      authTime: 1_700_000_000n,
      acr: '1',
    });
    expect(Number(answer.exp - answer.iat)).toBe(30 * 86_400);
    const { refreshToken: successor } = await on.refresh(refreshToken);
    expect((await on.introspect(refreshToken)).active).toBe(false);
    expect((await on.introspect(successor)).active).toBe(true);
  });

  it('reports every other token as inactive, without details (INT-2, INT-5, JWT-6)', async () => {
    const { accessToken, idToken, refreshToken } = await on.signIn();
    await on.token.revoke({ token: refreshToken, caller }, call());
    const expired = await on.signIn();
    const header = { alg: 'RS256', kid: on.key.kid, typ: 'at+jwt' };
    const claims = claimsOf(accessToken);
    const bad = [
      'garbage',
      'a.b.c',
      idToken,
      refreshToken,
      on.newCode(),
      `${accessToken}x`,
      signedToken(testKey(on.key.kid), header, claims),
      signedToken(on.key, { ...header, alg: 'none' }, claims),
      signedToken(on.key, header, { ...claims, exp: 1 }),
    ];
    for (const token of bad) expect(said(await on.introspect(token))).toEqual({ active: false });
    await on.elapse(31 * 86_400);
    expect(said(await on.introspect(expired.refreshToken))).toEqual({ active: false });
  });

  it('refuses an empty token with the contract’s message', async () => {
    await expect(on.introspect('')).rejects.toThrow('Invalid request.');
    expect(await codeOf(on.introspect(''))).toBe('invalid_request');
  });

  it('shows a client its own tokens and the tokens for its API resources in its tenant (INT-1)', async () => {
    const { accessToken, refreshToken } = await on.signIn();
    const seen = async (token: string, clientId: string) => said(await on.introspect(token, clientId));
    for (const token of [accessToken, refreshToken]) {
      expect(await seen(token, 'web')).toMatchObject({ active: true });
      for (const foreign of ['other', 'service', 'globex-web'])
        expect(await seen(token, foreign)).toEqual({ active: false });
    }
    expect(await seen(accessToken, 'orders-api')).toMatchObject({ active: true, aud: orders });
    expect(await seen(refreshToken, 'orders-api')).toEqual({ active: false });
  });

  it('decides for each caller separately, even about a token it has just verified for another (INT-3)', async () => {
    const { accessToken } = await on.signIn();
    expect((await on.introspect(accessToken, 'web')).active).toBe(true);
    expect((await on.introspect(accessToken, 'other')).active).toBe(false);
    expect((await on.introspect(accessToken)).active).toBe(true);
  });

  it('refuses wrong credentials and those of a public client', async () => {
    const { accessToken } = await on.signIn();
    expect(await codeOf(on.introspect(accessToken, 'spa'))).toBe('invalid_client');
    const wrong = credentialsOf('web', 'x'.repeat(43));
    expect(
      await codeOf(on.introspection.introspect({ token: accessToken, credentials: wrong, caller }, call())),
    ).toBe('invalid_client');
  });

  it('audits a client that introspects a token it may not see or has a wrong secret', async () => {
    const { accessToken } = await on.signIn();
    await on.introspect(accessToken, 'other');
    const credentials = credentialsOf('no-refresh', 'x'.repeat(43));
    await codeOf(on.introspection.introspect({ token: accessToken, credentials, caller }, call()));
    const about = (clientId: string) => (event: { record: object }) =>
      'clientId' in event.record && event.record.clientId === clientId;
    const events = await on.events();
    expect(events.filter(about('other')).at(-1)).toMatchObject({
      event: 'introspect.denied',
      reason: 'foreign_token',
    });
    expect(events.filter(about('no-refresh'))).toMatchObject([
      { event: 'client.auth_failed', reason: 'secret_mismatch', record: { tenantId: 'acme' } },
    ]);
  });

  it('reports a refresh token as inactive if its application may no longer use it (RFC 7662 section 2.2)', async () => {
    const { refreshToken } = await on.signIn({ clientId: 'other' });
    const before = structuredClone(on.directory.applications.get('other'));
    await on.directory.changeApplication('other', (record) => {
      record.grantTypes = record.grantTypes.filter((name) => name !== 'refresh_token');
    });
    expect(said(await on.introspect(refreshToken))).toEqual({ active: false });
    await on.directory.changeApplication('other', (record) => Object.assign(record, before));
    expect((await on.introspect(refreshToken)).active).toBe(true);
    await on.directory.changeApplication('other', (record) => {
      record.scopes = record.scopes.filter(({ name }) => name !== 'offline_access');
    });
    expect(said(await on.introspect(refreshToken))).toEqual({ active: false });
    await on.directory.changeApplication('other', (record) => Object.assign(record, before));
  });

  it('reports the client’s token as active if its refresh was refused after the rotation', async () => {
    const { refreshToken } = await on.signIn({ userId: 'bob' });
    const { exp, iat } = await on.introspect(refreshToken);
    await on.directory.changeUser('bob', (user) => (user.status = Status.LOCKED));
    await on.elapse(60);
    expect(await codeOf(on.refresh(refreshToken))).toBe('invalid_grant');
    await on.directory.changeUser('bob', (user) => (user.status = Status.ACTIVE));
    await on.elapse(60);
    expect(said(await on.introspect(refreshToken))).toMatchObject({
      active: true,
      exp: exp - 120n,
      iat: iat - 120n,
    });
    const { refreshToken: successor } = await on.refresh(refreshToken);
    expect((await on.introspect(refreshToken)).active).toBe(false);
    expect((await on.introspect(successor)).active).toBe(true);
  });

  it('reports a refresh token from before a change as inactive, as a refresh would refuse it (REF-7)', async () => {
    const { accessToken, refreshToken } = await on.signIn({ userId: 'bob' });
    const validFrom = grantOf().authTime + 1n;
    await on.directory.changeUser('bob', (user) => (user.validFrom = validFrom));
    expect((await on.introspect(refreshToken)).active).toBe(false);
    expect((await on.introspect(accessToken)).active).toBe(true);
    await on.directory.changeUser('bob', (user) => (user.validFrom = validFrom - 1n));
    expect((await on.introspect(refreshToken)).active).toBe(true);
    await on.directory.changeApplication('web', (record) => (record.validFrom = validFrom));
    expect((await on.introspect(refreshToken)).active).toBe(false);
    await on.directory.changeApplication('web', (record) => (record.validFrom = 0n));
  });

  it('reports a refresh token as inactive while its user has no role that the application requires (DEV-2)', async () => {
    const { accessToken, refreshToken } = await on.signIn();
    const active = async () => [
      (await on.introspect(accessToken)).active,
      (await on.introspect(refreshToken)).active,
    ];
    await on.directory.changeApplication('web', (record) => (record.allowedRoles = ['clerk']));
    expect(await active()).toEqual([true, true]);
    await on.directory.changeUser('ada', (user) => (user.roles = ['manager']));
    expect(await active()).toEqual([true, false]);
    await on.directory.changeUser('ada', (user) => (user.roles = ['clerk']));
    expect(await active()).toEqual([true, true]);
    await on.directory.changeApplication('web', (record) => (record.allowedRoles = []));
  });

  it('checks user, application and tenant of refresh tokens and keeps access tokens active until they expire', async () => {
    const { accessToken, refreshToken } = await on.signIn({ userId: 'bob' });
    const active = async () => [
      (await on.introspect(accessToken)).active,
      (await on.introspect(refreshToken)).active,
    ];
    await on.directory.changeUser('bob', (user) => (user.status = Status.DISABLED));
    expect(await active()).toEqual([true, false]);
    await on.directory.changeUser('bob', (user) => (user.status = Status.ACTIVE));
    await on.directory.changeTenant('acme', Status.DISABLED);
    expect(await active()).toEqual([true, false]);
    await on.directory.changeTenant('acme', Status.ACTIVE);
    await on.directory.changeApplication('web', (record) => (record.status = Status.DISABLED));
    expect(await active()).toEqual([true, false]);
    await on.directory.changeApplication('web', (record) => (record.status = Status.ACTIVE));
    expect(await active()).toEqual([true, true]);
  });
});
