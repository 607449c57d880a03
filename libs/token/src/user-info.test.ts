import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Status } from '@tessera/proto-gen/directory';
import { signedToken } from './testing/fake-keys.ts';
import { call, caller, claimsOf, codeOf, world, type World } from './testing/world.ts';
import { waitFor } from '@tessera/test-kit';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

const ask = (accessToken: string, from = caller) => on.token.userInfo({ accessToken, caller: from }, call());
const claims = async (accessToken: string) => {
  const { sub, name, email, phoneNumber } = await ask(accessToken);
  return { sub, name, email, phoneNumber };
};

describe('userinfo', () => {
  it('returns declared standard claims with their scopes (OIDC Core §5.1, §5.4)', async () => {
    const standardClaims = { given_name: 'Cleo', email_verified: true, address: { postal_code: '1' } };
    on.directory.addUser('cleo', { name: 'Cleo', standardClaims });
    const released = async (scopes: string[]) =>
      (await ask((await on.signIn({ scopes, userId: 'cleo', resource: '' })).accessToken)).claims;
    expect(await released(['openid', 'profile'])).toEqual({ given_name: 'Cleo', preferred_username: 'cleo' });
    expect(await released(['email'])).toEqual({ email_verified: true });
    expect(await released(['openid'])).toBeUndefined();
  });

  it('returns claims requested by name, also after a refresh, as far as the application has their scope (OIDC Core §5.5)', async () => {
    const requested = {
      scopes: ['openid', 'offline_access'],
      resource: '',
      userinfoClaims: ['name', 'email', 'nickname'],
      idTokenClaims: ['email', 'phone_number'],
    };
    const first = await on.signIn(requested);
    expect(claimsOf(first.accessToken)['userinfo_claims']).toEqual(requested.userinfoClaims);
    expect((await on.introspect(first.accessToken)).active).toBe(true);
    const second = await on.refresh(first.refreshToken);
    for (const { accessToken, idToken } of [first, second]) {
      const released = {
        sub: 'ada',
        name: 'Ada Lovelace',
        email: 'ada@acme.example',
        phoneNumber: undefined,
      };
      expect(await claims(accessToken)).toEqual(released);
      expect(claimsOf(idToken)).toMatchObject({ email: 'ada@acme.example', phone_number: '+46701234567' });
      expect(claimsOf(idToken)).not.toHaveProperty('name');
    }
    const narrowed = await on.redeem(on.newCode({ ...requested, scopes: ['openid', 'email'] }), 'web', {
      scope: 'email',
    });
    expect(claimsOf(narrowed.accessToken)).not.toHaveProperty('userinfo_claims');
    await on.directory.changeApplication('web', (record) => {
      record.scopes = record.scopes.filter(({ name }) => name !== 'email');
    });
    await waitFor(async () => expect((await claims(first.accessToken)).email).toBeUndefined());
    await on.directory.changeApplication('web', (record) => {
      record.scopes = [...record.scopes, { name: 'email', audience: '' }];
    });
  });

  it('returns the claims that the scopes allow and the user has (OIDC Core section 5.4)', async () => {
    const released = async (scopes: string[], userId = 'ada') =>
      claims((await on.signIn({ scopes, userId, resource: '' })).accessToken);
    expect(await released(['openid'])).toEqual({
      sub: 'ada',
      name: undefined,
      email: undefined,
      phoneNumber: undefined,
    });
    expect(await released(['openid', 'profile', 'email', 'phone'])).toEqual({
      sub: 'ada',
      name: 'Ada Lovelace',
      email: 'ada@acme.example',
      phoneNumber: '+46701234567',
    });
    expect(await released(['openid', 'email'])).toMatchObject({ email: 'ada@acme.example', name: undefined });
    expect(await released(['openid', 'profile', 'email'], 'bob')).toMatchObject({
      sub: 'bob',
      name: undefined,
      email: undefined,
    });
  });

  it('returns claims for any identity scope, with or without openid (contract)', async () => {
    const { accessToken } = await on.signIn({ scopes: ['profile', 'orders.read'] });
    expect(await claims(accessToken)).toEqual({
      sub: 'ada',
      name: 'Ada Lovelace',
      email: undefined,
      phoneNumber: undefined,
    });
  });

  it('is forbidden without an identity scope, as with client credentials (contract, 403)', async () => {
    const { accessToken } = await on.signIn({ scopes: ['offline_access', 'orders.read'] });
    expect(await codeOf(ask(accessToken))).toBe('insufficient_scope');
    const own = await on.exchange('web', { grantType: 'client_credentials' });
    expect(await codeOf(ask(own.accessToken))).toBe('insufficient_scope');
  });

  it('refuses anything but an active access token of this issuer (contract, 401; TEN-2)', async () => {
    const { accessToken, idToken, refreshToken } = await on.signIn();
    const header = { alg: 'RS256', kid: on.key.kid, typ: 'at+jwt' };
    const foreign = signedToken(on.key, header, { ...claimsOf(accessToken), iss: 'https://evil.example' });
    const elsewhere = signedToken(on.key, header, { ...claimsOf(accessToken), tenant_id: 'globex' });
    for (const token of ['', 'garbage', idToken, refreshToken, foreign, elsewhere]) {
      expect(await codeOf(ask(token))).toBe('invalid_token');
    }
    const otherHost = { ...caller, issuer: 'https://other.example' };
    expect(await codeOf(ask(accessToken, otherHost))).toBe('invalid_token');
    on.clock.advance(601_000);
    expect(await codeOf(ask(accessToken))).toBe('invalid_token');
  });

  it('refuses a deleted or inactive user, application or tenant', async () => {
    const { accessToken } = await on.signIn({ userId: 'bob' });
    for (const status of [Status.DISABLED, Status.LOCKED]) {
      await on.directory.changeUser('bob', (user) => (user.status = status));
      expect(await codeOf(ask(accessToken))).toBe('invalid_token');
    }
    await on.directory.changeUser('bob', (user) => (user.status = Status.ACTIVE));
    await on.directory.changeApplication('web', (record) => (record.status = Status.DISABLED));
    expect(await codeOf(ask(accessToken))).toBe('invalid_token');
    await on.directory.changeApplication('web', (record) => (record.status = Status.ACTIVE));
    await on.directory.changeTenant('acme', Status.DISABLED);
    expect(await codeOf(ask(accessToken))).toBe('invalid_token');
    await on.directory.changeTenant('acme', Status.ACTIVE);
    expect((await ask(accessToken)).sub).toBe('bob');
  });

  it('is forbidden while the user has no role that the application requires (contract, 403; DEV-2)', async () => {
    const { accessToken } = await on.signIn({ userId: 'bob' });
    await on.directory.changeApplication('web', (record) => (record.allowedRoles = ['clerk']));
    expect(await codeOf(ask(accessToken))).toBe('insufficient_scope');
    await on.directory.changeUser('bob', (user) => (user.status = Status.DISABLED));
    expect(await codeOf(ask(accessToken))).toBe('invalid_token');
    await on.directory.changeUser('bob', (user) => (user.status = Status.ACTIVE));
    await on.directory.changeUser('bob', (user) => (user.roles = ['clerk']));
    expect((await ask(accessToken)).sub).toBe('bob');
    await on.directory.changeUser('bob', (user) => (user.roles = []));
    await on.directory.changeApplication('web', (record) => (record.allowedRoles = []));
    expect((await ask(accessToken)).sub).toBe('bob');
  });

  it('refuses a token issued before a change and accepts one of a sign-in in the second of the change (REF-7)', async () => {
    const now = BigInt(Math.floor(on.clock.now() / 1000));
    const before = await on.signIn({ userId: 'bob', authTime: now });
    await on.directory.changeUser('bob', (user) => (user.validFrom = now + 1n));
    const after = await on.signIn({ userId: 'bob', authTime: now + 1n });
    expect(await codeOf(ask(before.accessToken))).toBe('invalid_token');
    expect((await ask(after.accessToken)).sub).toBe('bob');
    await on.directory.changeUser('bob', (user) => (user.validFrom = 0n));
  });

  it('accepts only tokens of the configured issuer, if there is one', async () => {
    const configured = await world({ settings: { TESSERA_ISSUER: caller.issuer } });
    const { accessToken } = await configured.signIn();
    const host = { ...caller, issuer: 'https://other.example' };
    expect((await configured.token.userInfo({ accessToken, caller: host }, call())).sub).toBe('ada');
    const header = { alg: 'RS256', kid: configured.key.kid, typ: 'at+jwt' };
    const early = signedToken(configured.key, header, { ...claimsOf(accessToken), iss: host.issuer });
    const asked = configured.token.userInfo({ accessToken: early, caller: host }, call());
    expect(await codeOf(asked)).toBe('invalid_token');
    await configured.close();
  });
});

describe('ID token hints', () => {
  const hint = (idToken: string, from = caller) =>
    on.token.verifyIdTokenHint({ idToken, caller: from }, call());

  it('are valid if this server issued them, expired or not (OIDC RP-Initiated Logout section 2)', async () => {
    const { idToken } = await on.signIn();
    on.clock.advance(86_400_000);
    expect(await hint(idToken)).toMatchObject({
      valid: true,
      clientId: 'web',
      sub: 'ada',
      sessionId: 'session-1',
    });
  });

  it('are not valid otherwise', async () => {
    const { idToken, accessToken } = await on.signIn();
    for (const token of [accessToken, 'garbage', '', `${idToken}x`]) {
      expect(await hint(token)).toMatchObject({ valid: false, clientId: '', sub: '' });
    }
    expect(await hint(idToken, { ...caller, issuer: 'https://other.example' })).toMatchObject({
      valid: false,
    });
  });
});
