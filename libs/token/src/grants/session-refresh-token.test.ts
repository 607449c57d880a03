import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { local, onBehalfOf } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { atHarbour, harbourIssuer, harbourWorld, shop } from '../testing/harbour-sessions.ts';
import { call, caller, claimsOf, codeOf, credentialsOf } from '../testing/world.ts';

let on: Awaited<ReturnType<typeof harbourWorld>>;
beforeAll(async () => {
  on = await harbourWorld();
});
afterAll(() => on.close());
beforeEach(() => {
  on.authorize.lifetimes = { idleSeconds: 3_600, remainingSeconds: 43_200 };
});

let sessions = 0;
const newSession = () => `harbour-${(sessions += 1)}`;
const isNotOffline = ({ name }: { readonly name: string }) => name !== 'offline_access';
const endOfSession = async (sessionId: string) =>
  on.token.noteSessionEnd({ tenantId: 'harbour', sessionId }, call());

describe('an application at an issuer with the endpoints of Keycloak', () => {
  it('gets a refresh token of its session without `offline_access`, and is told how long it lives', async () => {
    const sessionId = newSession();
    const answer = await on.signIn({ sessionId });
    expect(answer.refreshExpiresIn).toBe(3_600);
    const { jti, iat, exp, ...claims } = claimsOf(answer.refreshToken);
    expect(claims).toEqual({
      typ: 'Refresh',
      iss: harbourIssuer,
      aud: harbourIssuer,
      sub: 'mo',
      azp: 'shop',
      sid: sessionId,
      scope: 'openid orders.read',
      nonce: 'n-0S6_WzA2Mj',
    });
    expect(jti).toMatch(/^[0-9a-f-]{36}\.1$/);
    expect(Number(exp) - Number(iat)).toBe(3_600);
    const next = await on.refresh(answer.refreshToken);
    expect([next.refreshExpiresIn, next.scope]).toEqual([3_600, 'openid orders.read']);
    expect(claimsOf(next.accessToken)).toMatchObject({ sub: 'mo', scope: 'openid orders.read' });
    expect(claimsOf(next.refreshToken)).toMatchObject({ typ: 'Refresh', sid: sessionId });
    expect(claimsOf(next.refreshToken)).not.toHaveProperty('nonce');
  });

  it('gets one with `offline_access` in the same form, for as long as any other', async () => {
    const scopes = ['openid', 'offline_access'];
    const answer = await on.signIn({ clientId: 'desk', sessionId: newSession(), scopes });
    expect(answer.refreshExpiresIn).toBe(30 * 86_400);
    expect(claimsOf(answer.refreshToken)).toMatchObject({ typ: 'Offline', scope: 'openid offline_access' });
    await endOfSession('harbour-of-no-one');
    expect(claimsOf((await on.refresh(answer.refreshToken, 'desk')).refreshToken)['typ']).toBe('Offline');
  });

  it('gets none for itself, without the grant type, without a session, or for one that has ended', async () => {
    const own = await on.ask('stock', { grantType: 'client_credentials', scope: 'orders.read' });
    const ended = newSession();
    on.authorize.endSession(ended, 'mo', 'harbour');
    const others = [
      await on.signIn({ clientId: 'till', sessionId: newSession() }),
      await on.signIn({ sessionId: '' }),
      await on.signIn({ sessionId: ended }),
    ];
    for (const { accessToken, refreshToken, refreshExpiresIn } of [own, ...others])
      expect([accessToken === '', refreshToken, refreshExpiresIn]).toEqual([false, '', 0]);
  });

  it('gets one for a device of the person who approved it in a session', async () => {
    const secret = on.device.start('td_');
    const sessionId = newSession();
    on.device.approve(secret, {
      ...on.grantOf(),
      sessionId,
      authTime: 1_700_000_000n,
      resource: '',
      nonce: '',
    });
    const answer = await on.ask('shop', { grantType: 'device_code', deviceCode: secret });
    expect(claimsOf(answer.refreshToken)).toMatchObject({ typ: 'Refresh', sid: sessionId });
    on.authorize.endSession(sessionId, 'mo', 'harbour');
    expect(await codeOf(on.refresh(answer.refreshToken))).toBe('invalid_grant');
  });

  it('gets one successor for twenty parallel uses, the same text in each answer', async () => {
    const { refreshToken } = await on.signIn({ sessionId: newSession() });
    const answers = await Promise.all(Array.from({ length: 20 }, async () => on.refresh(refreshToken)));
    expect(new Set(answers.map((answer) => answer.refreshToken)).size).toBe(1);
    const [{ refreshToken: successor } = { refreshToken: '' }] = answers;
    await on.refresh(successor);
    expect(await codeOf(on.refresh(refreshToken))).toBe('invalid_grant');
    expect(await codeOf(on.refresh(successor))).toBe('invalid_grant');
  });

  it('loses its tokens once one is reused that was superseded twice (RFC 9700 section 4.14.2)', async () => {
    const { scopes } = shop;
    await on.directory.changeApplication('shop', { scopes: scopes.filter(isNotOffline) });
    try {
      const sessionId = newSession();
      const first = await on.signIn({ sessionId });
      const second = await on.refresh(first.refreshToken);
      const third = await on.refresh(second.refreshToken);
      await on.elapse(31);
      expect(await codeOf(on.refresh(first.refreshToken))).toBe('invalid_grant');
      expect(await codeOf(on.refresh(third.refreshToken))).toBe('invalid_grant');
      const ofSession = (await on.events()).filter(({ record }) => record['sessionId'] === sessionId);
      expect(ofSession.map(({ event }) => event)).toContain('refresh.reuse_detected');
    } finally {
      await on.directory.changeApplication('shop', { scopes });
    }
  });

  it('that is another one cannot use it, and changes nothing', async () => {
    const { refreshToken } = await on.signIn({ sessionId: newSession() });
    const { uses } = on.authorize;
    expect(await codeOf(on.refresh(refreshToken, 'desk'))).toBe('invalid_grant');
    expect(on.authorize.uses).toBe(uses);
    expect((await on.refresh(refreshToken)).refreshToken).not.toBe('');
  });
});

describe('a refresh token of a session', () => {
  it('ends with the session, whoever ends it and however it is told (OIDC Back-Channel Logout section 2.7)', async () => {
    const [noted, unnoted] = [newSession(), newSession()];
    const tokens = [await on.signIn({ sessionId: noted }), await on.signIn({ sessionId: unnoted })];
    await endOfSession(noted);
    on.authorize.endSession(unnoted, 'mo', 'harbour');
    for (const { refreshToken } of tokens) {
      expect(await codeOf(on.refresh(refreshToken))).toBe('invalid_grant');
      expect((await on.introspect(refreshToken)).active).toBe(false);
    }
    const reasons = (await on.events())
      .filter(({ event }) => event === 'token.denied')
      .map(({ reason }) => reason);
    expect(reasons).toContain('session_ended');
  });

  it('uses the session, and never outlives it, however long other tokens of the application live', async () => {
    on.authorize.lifetimes = { idleSeconds: 600, remainingSeconds: 1_000 };
    const { refreshToken, refreshExpiresIn } = await on.signIn({ sessionId: newSession() });
    expect(refreshExpiresIn).toBe(600);
    const { uses } = on.authorize;
    await on.elapse(500);
    const second = await on.refresh(refreshToken);
    expect(on.authorize.uses).toBe(uses + 1);
    expect(second.refreshExpiresIn).toBeLessThanOrEqual(500);
    expect(second.refreshExpiresIn).toBeGreaterThan(480);
    await on.elapse(500);
    expect(await codeOf(on.refresh(second.refreshToken))).toBe('invalid_grant');
    expect(on.authorize.uses, 'one that is expired is no use').toBe(uses + 1);
  });

  it('ends before it where its application says so', async () => {
    const lifetimes = {
      sessionRefreshTokenIdle: 300,
      sessionRefreshTokenAbsolute: 400,
      refreshTokenIdle: 20,
    };
    await on.directory.changeApplication('desk', { lifetimes });
    const { refreshToken, refreshExpiresIn } = await on.signIn({ clientId: 'desk', sessionId: newSession() });
    expect(refreshExpiresIn).toBe(300);
    await on.elapse(290);
    const second = await on.refresh(refreshToken, 'desk');
    expect(second.refreshExpiresIn).toBeLessThanOrEqual(110);
    await on.elapse(115);
    expect(await codeOf(on.refresh(second.refreshToken, 'desk'))).toBe('invalid_grant');
    await on.directory.changeApplication('desk', { lifetimes: {} });
  });

  it('is refused, not used up, while nobody knows whether the session lives', async () => {
    const { refreshToken } = await on.signIn({ sessionId: newSession() });
    on.authorize.line.cut = true;
    try {
      expect(await codeOf(on.refresh(refreshToken))).toBe('temporarily_unavailable');
      expect(await codeOf(on.introspect(refreshToken))).toBe('temporarily_unavailable');
    } finally {
      on.authorize.line.cut = false;
    }
    expect((await on.refresh(refreshToken)).refreshToken).not.toBe('');
  });

  it('stays good where the tenant gives up the endpoints of Keycloak', async () => {
    const { refreshToken } = await on.signIn({ sessionId: newSession() });
    const offline = await on.signIn({ sessionId: newSession(), scopes: ['openid', 'offline_access'] });
    await on.changeEndpoints('standard');
    try {
      expect(claimsOf((await on.refresh(refreshToken)).refreshToken)['typ']).toBe('Refresh');
      const opaque = await on.refresh(offline.refreshToken);
      expect([opaque.refreshToken.slice(0, 3), opaque.refreshExpiresIn]).toEqual(['tr_', 0]);
      expect((await on.signIn({ sessionId: newSession() })).refreshToken).toBe('');
      await on.changeEndpoints('keycloak');
      const again = await on.refresh(opaque.refreshToken);
      expect(claimsOf(again.refreshToken)).toMatchObject({ typ: 'Offline', scope: 'openid offline_access' });
      expect(await codeOf(on.refresh(offline.refreshToken))).toBe('invalid_grant');
    } finally {
      await on.changeEndpoints('keycloak');
    }
  });

  it('is a refresh token to introspection and revocation (RFC 7662 section 2.2, RFC 7009 section 2.1)', async () => {
    const { refreshToken } = await on.signIn({ clientId: 'desk', sessionId: newSession() });
    const shown = await on.introspect(refreshToken);
    expect(shown).toMatchObject({
      active: true,
      kind: 2,
      sub: 'mo',
      clientId: 'desk',
      scope: 'openid orders.read',
    });
    const asked = { token: refreshToken, ignoreUnknown: true, credentials: on.credentials('desk') };
    await on.token.revoke({ ...asked, caller: atHarbour }, call());
    expect((await on.introspect(refreshToken)).active).toBe(false);
    expect(await codeOf(on.refresh(refreshToken, 'desk'))).toBe('invalid_grant');
  });

  it('is no access token and no ID token anywhere (RFC 8725 section 3.11)', async () => {
    const { refreshToken } = await on.signIn({ sessionId: newSession() });
    const shown = on.token.userInfo({ accessToken: refreshToken, caller: atHarbour }, call());
    expect(await codeOf(shown)).toBe('invalid_token');
    const hint = await on.token.verifyIdTokenHint({ idToken: refreshToken, caller: atHarbour }, call());
    expect(hint.valid).toBe(false);
  });

  it('is listed and counted as a grant only while its session lives', async () => {
    const sessionId = newSession();
    await on.signIn({ sessionId });
    const admin = onBehalfOf(call(), { type: 'user', tenantId: 'ops', id: 'usr_root' });
    const listed = async () => {
      const api = local(GrantsService, on.service, 'admin', silentLog());
      const { grants } = await api.list({ tenantId: 'harbour', userId: 'mo', pageSize: 1000 }, admin);
      return grants.filter((grant) => grant.sessionId === sessionId).length;
    };
    expect(await listed()).toBe(1);
    on.authorize.endSession(sessionId, 'mo', 'harbour');
    expect(await listed()).toBe(0);
  });
});

describe('signing out with a refresh token', () => {
  const signOut = async (refreshToken: string, clientId = 'shop') =>
    codeOf(
      on.token.endGrantSession(
        { refreshToken, caller: atHarbour, credentials: on.credentials(clientId) },
        call(),
      ),
    );

  it('ends its session and with it the tokens of other applications, and may be repeated', async () => {
    const sessionId = newSession();
    const [mine, others, earlier] = [
      await on.signIn({ sessionId }),
      await on.signIn({ clientId: 'desk', sessionId }),
      await on.signIn({ clientId: 'desk', sessionId: `before-${sessionId}` }),
    ];
    const offline = await on.signIn({ clientId: 'desk', sessionId, scopes: ['openid', 'offline_access'] });
    expect(await signOut(mine.refreshToken)).toBe('no error');
    expect(on.authorize.endedByApplications).toContain(`shop ${caller.ipAddress} ${sessionId}`);
    expect(await codeOf(on.refresh(mine.refreshToken))).toBe('invalid_grant');
    for (const { refreshToken } of [others, earlier])
      expect(await codeOf(on.refresh(refreshToken, 'desk'))).toBe('invalid_grant');
    expect((await on.refresh(offline.refreshToken, 'desk')).refreshToken).not.toBe('');
    expect(await signOut(mine.refreshToken)).toBe('no error');
  });

  it('ends the family alone of a token that lives without its session', async () => {
    const sessionId = newSession();
    const session = await on.signIn({ sessionId });
    const offline = await on.signIn({ clientId: 'desk', sessionId, scopes: ['openid', 'offline_access'] });
    expect(await signOut(offline.refreshToken, 'desk')).toBe('no error');
    expect(await codeOf(on.refresh(offline.refreshToken, 'desk'))).toBe('invalid_grant');
    expect((await on.refresh(session.refreshToken)).refreshToken).not.toBe('');
  });

  it('is for the client of the token, which authenticates', async () => {
    const { refreshToken } = await on.signIn({ clientId: 'desk', sessionId: newSession() });
    expect(await signOut(refreshToken, 'shop')).toBe('invalid_grant');
    expect(await signOut('garbage', 'desk')).toBe('invalid_grant');
    expect(await signOut('', 'desk')).toBe('invalid_request');
    const wrong = { refreshToken, caller: atHarbour, credentials: credentialsOf('desk', 'x'.repeat(43)) };
    expect(await codeOf(on.token.endGrantSession(wrong, call()))).toBe('invalid_client');
    expect((await on.refresh(refreshToken, 'desk')).refreshToken).not.toBe('');
  });

  it('fails, and may be repeated, while the session cannot be ended', async () => {
    const { refreshToken } = await on.signIn({ sessionId: newSession() });
    on.authorize.line.cut = true;
    expect(await signOut(refreshToken)).toBe('temporarily_unavailable');
    on.authorize.line.cut = false;
    expect(await signOut(refreshToken)).toBe('no error');
  });
});

describe('an application at any other issuer', () => {
  it('gets a refresh token with `offline_access` alone, an opaque one, and is not told how long it lives', async () => {
    const bare = await on.redeem(on.newCode({ scopes: ['openid', 'orders.read'] }));
    expect([bare.refreshToken, bare.refreshExpiresIn]).toEqual(['', 0]);
    const { uses } = on.authorize;
    const offline = await on.redeem(on.newCode());
    expect([offline.refreshToken.slice(0, 3), offline.refreshExpiresIn]).toEqual(['tr_', 0]);
    expect(on.authorize.uses).toBe(uses);
  });
});
