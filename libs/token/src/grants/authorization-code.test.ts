import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessTokenHash } from '@tessera/oauth';
import { Status } from '@tessera/proto-gen/directory';
import type { ExchangeRequest } from '@tessera/proto-gen/token';
import { redirectUri, verifier } from '../testing/fake-authorize.ts';
import { orders } from '../testing/declared-records.ts';
import {
  call,
  caller,
  claimsOf,
  codeOf,
  credentialsOf,
  issuer,
  world,
  type World,
} from '../testing/world.ts';
import { worldThatHolds } from '../testing/held-statement.ts';
import { waitFor } from '@tessera/test-kit';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

describe('the authorization code grant', () => {
  it('issues access, refresh and ID token with what the person granted (RFC 6749 section 4.1.4, OIDC Core section 3.1.3.3)', async () => {
    const answer = await on.signIn();
    expect(answer).toMatchObject({
      expiresIn: 600,
      scope: 'openid profile offline_access orders.read orders.write',
    });
    const access = claimsOf(answer.accessToken);
    expect(access).toMatchObject({
      iss: issuer,
      aud: orders,
      sub: 'ada',
      client_id: 'web',
      tenant_id: 'acme',
      scope: ['openid', 'profile', 'offline_access', 'orders.read', 'orders.write'],
      role: ['clerk'],
    });
    expect(access['jti']).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(Number(access['exp']) - Number(access['iat'])).toBe(600);
    expect(claimsOf(answer.idToken)).toMatchObject({
      iss: issuer,
      aud: 'web',
      sub: 'ada',
      auth_time: 1_700_000_000,
      nonce: 'n-0S6_WzA2Mj',
      sid: 'session-1',
      acr: '1',
      amr: ['pwd'],
      at_hash: accessTokenHash(answer.accessToken),
    });
    expect(answer.refreshToken).toMatch(/^tr_/);
  });

  it('leaves nonce out when none was sent and the ID token out without openid (COD-9)', async () => {
    const withoutNonce = await on.signIn({ nonce: '' });
    expect(claimsOf(withoutNonce.idToken)).not.toHaveProperty('nonce');
    expect((await on.signIn({ scopes: ['orders.read'] })).idToken).toBe('');
  });

  it('issues a refresh token only with offline_access and to an application that may refresh', async () => {
    expect((await on.signIn({ scopes: ['openid', 'orders.read'] })).refreshToken).toBe('');
    expect((await on.signIn({ clientId: 'no-refresh' })).refreshToken).toBe('');
    expect((await on.signIn({ clientId: 'spa' })).refreshToken).not.toBe('');
  });

  it('gives identity scopes alone the issuer as audience', async () => {
    const answer = await on.signIn({ scopes: ['openid', 'email'], resource: '' });
    expect(claimsOf(answer.accessToken)).toMatchObject({ aud: issuer, scope: ['openid', 'email'] });
  });

  it('narrows the access token to the scope of the request and leaves the family as granted', async () => {
    const answer = await on.redeem(on.newCode(), 'web', { scope: 'orders.read' });
    expect(claimsOf(answer.accessToken)).toMatchObject({ scope: ['orders.read'], aud: orders });
    expect(answer.idToken).toBe('');
    expect((await on.refresh(answer.refreshToken)).scope).toContain('orders.write');
  });

  it('leaves the code usable when scope or resource of the request are refused', async () => {
    const code = on.newCode();
    expect(await codeOf(on.redeem(code, 'web', { scope: 'billing.read' }))).toBe('invalid_scope');
    expect(await codeOf(on.redeem(code, 'web', { scope: 'a  b' }))).toBe('invalid_scope');
    const resource = 'https://billing.acme.example';
    expect(await codeOf(on.redeem(code, 'web', { resource }))).toBe('invalid_target');
    expect((await on.redeem(code, 'web', { resource: orders })).accessToken).not.toBe('');
  });

  it('refuses a request without code, verifier or redirect URI and names what is missing (RFC 7636 section 4.5)', async () => {
    const code = on.newCode();
    await expect(on.redeem(code, 'web', { codeVerifier: '' })).rejects.toThrow('code_verifier');
    await expect(on.redeem(code, 'web', { redirectUri: '' })).rejects.toThrow('redirect_uri');
    await expect(on.redeem('')).rejects.toThrow('The parameter code is missing.');
    expect((await on.redeem(code)).accessToken).not.toBe('');
  });

  it('asks for the verifier unless the application declares PKCE optional (RFC 7636 section 4.5)', async () => {
    await on.directory.changeApplication('web', { pkceOptional: true });
    // The fake of authorize knows codes with a challenge only: without a verifier it refuses them.
    expect(await codeOf(on.redeem(on.newCode(), 'web', { codeVerifier: '' }))).toBe('invalid_grant');
    await on.directory.changeApplication('web', { pkceOptional: false });
    expect(await codeOf(on.redeem(on.newCode(), 'web', { codeVerifier: '' }))).toBe('invalid_request');
  });

  it('refuses a second use by its owner and revokes what the first issued (COD-1, RFC 6749 section 4.1.2)', async () => {
    const code = on.newCode();
    const { refreshToken } = await on.redeem(code);
    expect(await codeOf(on.redeem(code))).toBe('invalid_grant');
    expect(await codeOf(on.refresh(refreshToken))).toBe('invalid_grant');
  });

  it('refuses a used code of another client without revoking the tokens of the first use (COD-4, COD-10)', async () => {
    const code = on.newCode();
    expect(await codeOf(on.redeem(code, 'other'))).toBe('invalid_grant');
    const { refreshToken } = await on.redeem(code);
    expect(await codeOf(on.redeem(code, 'other'))).toBe('invalid_grant');
    expect(await codeOf(on.redeem(code, 'globex-web'))).toBe('invalid_grant');
    const wrongSecret = { clientId: 'web', clientSecret: 'x'.repeat(43) };
    const replay = { grantType: 'authorization_code', code, codeVerifier: verifier, redirectUri };
    const asked = on.token.exchange({
      ...replay,
      credentials: wrongSecret,
      caller: { ipAddress: '192.0.2.9', issuer },
    });
    expect(await codeOf(asked)).toBe('invalid_client');
    expect((await on.refresh(refreshToken)).accessToken).not.toBe('');
  });

  it('treats a second use as a replay even if it would fail for another reason (RFC 6749 section 4.1.2)', async () => {
    const lock = (status: Status) => on.directory.changeUser('bob', (user) => (user.status = status));
    const redeem = (code: string, more: Partial<ExchangeRequest>) => codeOf(on.redeem(code, 'web', more));
    const seconds: Record<string, (code: string) => Promise<string>> = {
      'a scope beyond the grant': (code) => redeem(code, { scope: 'billing.read' }),
      'another resource': (code) => redeem(code, { resource: 'https://billing.acme.example' }),
      'a wrong verifier': (code) => redeem(code, { codeVerifier: 'w'.repeat(43) }),
      'a wrong redirect URI': (code) => redeem(code, { redirectUri: 'https://app.example/other' }),
      'an inactive user': async (code) => {
        await lock(Status.LOCKED);
        const outcome = await codeOf(on.redeem(code));
        await lock(Status.ACTIVE);
        return outcome;
      },
      'a failing signer': async (code) => {
        on.keys.line.cut = true;
        const outcome = await codeOf(on.redeem(code));
        on.keys.line.cut = false;
        return outcome;
      },
    };
    for (const [reason, second] of Object.entries(seconds)) {
      const code = on.newCode({ userId: 'bob' });
      const { refreshToken } = await on.redeem(code);
      expect([reason, await second(code)]).toEqual([reason, 'invalid_grant']);
      expect([reason, await codeOf(on.refresh(refreshToken))]).toEqual([reason, 'invalid_grant']);
    }
  });

  it('revokes the access token of a code used twice, for /userinfo and introspection (RFC 6749 section 4.1.2)', async () => {
    const code = on.newCode({ scopes: ['openid', 'orders.read'] });
    const [first, other] = [await on.redeem(code), await on.signIn()];
    const works = async ({ accessToken }: { accessToken: string }) => [
      (await on.introspect(accessToken)).active,
      (await on.introspect(accessToken, 'orders-api')).active,
      await codeOf(on.token.userInfo({ accessToken, caller }, call())),
    ];
    expect(await works(first)).toEqual([true, true, 'no error']);
    expect(await codeOf(on.redeem(code, 'other'))).toBe('invalid_grant');
    expect(await works(first)).toEqual([true, true, 'no error']);
    expect(await codeOf(on.redeem(code))).toBe('invalid_grant');
    expect(await works(first)).toEqual([false, false, 'invalid_token']);
    expect(await works(other)).toEqual([true, true, 'no error']);
  });

  it('revokes the access token at every replica, also at one that starts later (RFC 6749 section 4.1.2)', async () => {
    const beside = async () => {
      const replica = await world({ runtime: { database: on.database } });
      replica.keys.keys = on.keys.keys;
      return replica;
    };
    const replica = await beside();
    const code = on.newCode();
    const { accessToken } = await on.redeem(code);
    expect((await replica.introspect(accessToken)).active).toBe(true);
    await codeOf(on.redeem(code));
    await waitFor(async () => expect((await replica.introspect(accessToken)).active).toBe(false));
    const later = await beside();
    expect((await later.introspect(accessToken)).active).toBe(false);
    await Promise.all([replica.close(), later.close()]);
  });

  it('leaves no access token of a code active whose two redemptions race (RFC 6749 section 10.5)', async () => {
    for (let round = 0; round < 20; round += 1) {
      const code = on.newCode();
      const outcomes = await Promise.allSettled([on.redeem(code), on.redeem(code)]);
      const issued = outcomes.filter((outcome) => outcome.status === 'fulfilled');
      expect(issued).toHaveLength(1);
      for (const { value } of issued) expect((await on.introspect(value.accessToken)).active).toBe(false);
    }
  });

  it('invalidates a used code of a public client at a wrong verifier without revoking the issued tokens: the caller proved nothing', async () => {
    const code = on.newCode({ clientId: 'spa' });
    const { refreshToken } = await on.redeem(code, 'spa');
    expect(await codeOf(on.redeem(code, 'spa', { codeVerifier: 'w'.repeat(43) }))).toBe('invalid_grant');
    expect((await on.refresh(refreshToken, 'spa')).accessToken).not.toBe('');
  });

  it('audits a replay once, with the family it revoked', async () => {
    const replayed = await world();
    const code = replayed.newCode();
    await replayed.redeem(code);
    await codeOf(replayed.redeem(code, 'web', { scope: 'billing.read' }));
    const events = (await replayed.events()).map(({ event }) => event);
    expect(
      events.filter((event) => !event.endsWith('.issued') && event !== 'code.redeemed').toSorted(),
    ).toEqual(['code.replayed', 'refresh.family_revoked']);
    await replayed.close();
  });

  it('issues nothing for a code that a wrong verifier invalidated, even if it was presented correctly before (RFC 7636 section 4.6)', async () => {
    const codeVerifier = 'w'.repeat(43);
    const untouched = on.newCode();
    expect(await codeOf(on.redeem(untouched, 'web', { codeVerifier }))).toBe('invalid_grant');
    expect(await codeOf(on.redeem(untouched))).toBe('invalid_grant');
    const presented = on.newCode();
    expect(await codeOf(on.redeem(presented, 'web', { scope: 'billing.read' }))).toBe('invalid_scope');
    expect(await codeOf(on.redeem(presented, 'web', { codeVerifier }))).toBe('invalid_grant');
    expect(await codeOf(on.redeem(presented))).toBe('invalid_grant');
  });

  it('lets one of fifty parallel redemptions succeed (COD-2)', async () => {
    for (let round = 0; round < 4; round += 1) {
      const code = on.newCode();
      const outcomes = await Promise.all(Array.from({ length: 50 }, () => codeOf(on.redeem(code))));
      expect(outcomes.filter((outcome) => outcome === 'no error')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'invalid_grant')).toHaveLength(49);
    }
  });

  it('writes one audit row for each delivered token, with its jti and without the token', async () => {
    const answer = await on.signIn();
    const { jti } = claimsOf(answer.accessToken);
    const events = await on.events();
    const ofThis = events.filter(({ record }) => JSON.stringify(record).includes(String(jti)));
    expect(ofThis.map(({ event }) => event).toSorted()).toEqual(['code.redeemed', 'token.issued']);
    for (const { record } of ofThis) expect(record).toMatchObject({ actor: { type: 'client', id: 'web' } });
    const everything = JSON.stringify(events);
    for (const secret of [answer.accessToken, answer.refreshToken, answer.idToken]) {
      expect(everything).not.toContain(secret.slice(-40));
    }
  });
});

describe('an application that is disabled while its code is redeemed', () => {
  it('gets no token, and may redeem the code once it is enabled again (REF-7)', async () => {
    const code = on.newCode();
    on.authorize.beforeRedeem = () => on.directory.changeApplication('web', { status: Status.DISABLED });
    expect(await codeOf(on.redeem(code))).toBe('invalid_client');
    on.authorize.beforeRedeem = undefined;
    await on.directory.changeApplication('web', { status: Status.ACTIVE });
    expect(await codeOf(on.redeem(code))).toBe('no error');
  });
});

describe('faults during the redemption of a code', () => {
  it('leaves the code usable if keys, authorize or the directory are unavailable, and answers temporarily_unavailable', async () => {
    for (const peer of [on.keys, on.authorize]) {
      const code = on.newCode();
      peer.line.cut = true;
      expect(await codeOf(on.redeem(code))).toBe('temporarily_unavailable');
      peer.line.cut = false;
      expect((await on.redeem(code)).accessToken).not.toBe('');
    }
  });

  it('does not use up a code when the process ends before the commit (F10)', async () => {
    let armed = true;
    const crashing = await world({
      runtime: {
        failpoint(name) {
          if (armed && name === 'code.before_commit') throw new Error('crash');
        },
      },
    });
    const code = crashing.newCode();
    expect(await codeOf(crashing.redeem(code))).not.toBe('no error');
    armed = false;
    expect((await crashing.redeem(code)).accessToken).not.toBe('');
    await crashing.close();
  });

  it('refuses the retry if the process ended after the commit, and revokes the family that was lost (F11)', async () => {
    let armed = true;
    const crashing = await world({
      runtime: {
        failpoint(name) {
          if (armed && name === 'code.after_commit') throw new Error('crash');
        },
      },
    });
    const code = crashing.newCode();
    await codeOf(crashing.redeem(code));
    armed = false;
    expect(await codeOf(crashing.redeem(code))).toBe('invalid_grant');
    expect((await crashing.events()).map(({ event }) => event)).toContain('refresh.family_revoked');
    await crashing.close();
  });

  it('does not use up a code if the caller gives up while its tokens are signed together with others', async () => {
    const code = on.newCode();
    const caller = new AbortController();
    const request = { grantType: 'authorization_code', code, codeVerifier: verifier, redirectUri };
    const credentials = credentialsOf('web');
    const from = { ipAddress: '192.0.2.7', issuer };
    on.keys.beforeSign = () => caller.abort();
    const asked = on.token.exchange({ ...request, credentials, caller: from }, { signal: caller.signal });
    const [given, other] = await Promise.allSettled([asked, on.redeem(on.newCode())]);
    on.keys.beforeSign = undefined;
    expect([given.status, other.status]).toEqual(['rejected', 'fulfilled']);
    expect(on.keys.signCalls.at(-1)).toBe(4);
    expect((await on.redeem(code)).accessToken).not.toBe('');
  });

  it('revokes nothing for a request that was given up and overtaken by its retry (RFC 6749 section 4.1.2)', async () => {
    const late = await worldThatHolds('token.replay');
    const code = late.newCode();
    const caller = new AbortController();
    const request = { grantType: 'authorization_code', code, codeVerifier: verifier, redirectUri };
    const from = { ipAddress: '192.0.2.7', issuer };
    const { accessToken, refreshToken } = await late.redeem(code);
    late.hold();
    const given = late.token.exchange(
      { ...request, credentials: credentialsOf('web'), caller: from },
      { signal: caller.signal },
    );
    const refused = expect(given).rejects.toThrow('the caller gave up');
    await late.reached;
    caller.abort();
    await refused;
    late.release();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await late.introspect(accessToken)).toMatchObject({ active: true });
    expect((await late.refresh(refreshToken)).accessToken).not.toBe('');
    await late.close();
  });

  it('does not use up a code for a caller that gave up', async () => {
    const code = on.newCode();
    const gaveUp = new AbortController();
    const request = { grantType: 'authorization_code', code, codeVerifier: verifier, redirectUri };
    const credentials = { clientId: 'web', clientSecret: 'web-secret-0123456789-0123456789' };
    const caller = { ipAddress: '192.0.2.7', issuer };
    const asked = on.token.exchange({ ...request, credentials, caller }, { signal: gaveUp.signal });
    gaveUp.abort();
    await expect(asked).rejects.toThrow();
    expect((await on.redeem(code)).accessToken).not.toBe('');
  });
});
