import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Status } from '@tessera/proto-gen/directory';
import { orders } from '../testing/declared-records.ts';
import { claimsOf, codeOf, credentialsOf, issuer, world, type World } from '../testing/world.ts';
import { worldThatHolds } from '../testing/held-statement.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

describe('the refresh token grant', () => {
  it('rotates at every use and issues an ID token for the same user without nonce (RFC 6749 section 6, OIDC Core section 12.2)', async () => {
    const first = await on.signIn();
    const second = await on.refresh(first.refreshToken);
    expect(second.refreshToken).not.toBe(first.refreshToken);
    expect(claimsOf(second.accessToken)).toMatchObject({
      iss: issuer,
      sub: 'ada',
      aud: orders,
      role: ['clerk'],
    });
    expect(claimsOf(second.accessToken)['jti']).not.toBe(claimsOf(first.accessToken)['jti']);
    const { iss, sub, aud, auth_time } = claimsOf(first.idToken);
    expect(claimsOf(second.idToken)).toMatchObject({ iss, sub, aud, auth_time });
    expect(claimsOf(second.idToken)).not.toHaveProperty('nonce');
    expect((await on.refresh(second.refreshToken)).refreshToken).not.toBe(second.refreshToken);
  });

  it('answers a repeated request with the same successor until the successor is used (F18)', async () => {
    const { refreshToken } = await on.signIn();
    const [first, second] = [await on.refresh(refreshToken), await on.refresh(refreshToken)];
    expect(second.refreshToken).toBe(first.refreshToken);
    const third = await on.refresh(second.refreshToken);
    expect(await codeOf(on.refresh(refreshToken))).toBe('invalid_grant');
    expect(await codeOf(on.refresh(third.refreshToken))).toBe('invalid_grant');
  });

  it('gives fifty parallel requests one successor value (REF-1, REF-2)', async () => {
    const { refreshToken } = await on.signIn();
    const answers = await Promise.all(Array.from({ length: 50 }, () => on.refresh(refreshToken)));
    expect(new Set(answers.map((answer) => answer.refreshToken)).size).toBe(1);
    expect(new Set(answers.map((answer) => claimsOf(answer.accessToken)['jti'])).size).toBe(50);
  });

  it('revokes the family if a token is reused after the retry window (REF-3, REF-6)', async () => {
    const { refreshToken } = await on.signIn();
    const { refreshToken: successor } = await on.refresh(refreshToken);
    await on.elapse(31);
    expect(await codeOf(on.refresh(refreshToken))).toBe('invalid_grant');
    expect(await codeOf(on.refresh(successor))).toBe('invalid_grant');
  });

  it('detects reuse even if the request names an unknown scope (RFC 9700 section 4.14.2)', async () => {
    const { refreshToken } = await on.signIn();
    const { refreshToken: successor } = await on.refresh(refreshToken);
    await on.elapse(31);
    expect(await codeOf(on.refresh(refreshToken, 'web', { scope: 'no.such' }))).toBe('invalid_grant');
    expect(await codeOf(on.refresh(successor))).toBe('invalid_grant');
  });

  it('refuses other clients, of the same or another tenant, and a wrong secret, and changes nothing (REF-11, R9, R11)', async () => {
    const { refreshToken } = await on.signIn();
    for (const clientId of ['other', 'spa', 'globex-web']) {
      expect(await codeOf(on.refresh(refreshToken, clientId))).toBe('invalid_grant');
    }
    const credentials = { clientId: 'web', clientSecret: 'x'.repeat(43) };
    const caller = { ipAddress: '192.0.2.11', issuer };
    const wrongSecret = on.token.exchange({ grantType: 'refresh_token', refreshToken, credentials, caller });
    expect(await codeOf(wrongSecret)).toBe('invalid_client');
    expect((await on.refresh(refreshToken)).accessToken).not.toBe('');
  });

  it('can narrow the scope of one refresh but never widen it beyond the grant (REF-12, R12)', async () => {
    const granted = ['openid', 'offline_access', 'orders.read'];
    const { refreshToken } = await on.signIn({ scopes: granted });
    for (const scope of ['orders.write', 'orders.read orders.write', 'no.such', 'profile']) {
      expect(await codeOf(on.refresh(refreshToken, 'web', { scope }))).toBe('invalid_scope');
    }
    const narrow = await on.refresh(refreshToken, 'web', { scope: 'orders.read' });
    expect(narrow.scope).toBe('orders.read');
    expect((await on.refresh(narrow.refreshToken)).scope).toBe(granted.join(' '));
  });

  it('refuses a resource other than the granted one and consumes nothing (INT-4, RFC 8707 section 2.2)', async () => {
    const { refreshToken } = await on.signIn();
    const resource = 'https://billing.acme.example';
    expect(await codeOf(on.refresh(refreshToken, 'web', { resource }))).toBe('invalid_target');
    expect(claimsOf((await on.refresh(refreshToken, 'web', { resource: orders })).accessToken)['aud']).toBe(
      orders,
    );
  });

  it('refuses malformed tokens and opaque values of other kinds without a database query (REF-10, COD-3)', async () => {
    const { refreshToken } = await on.signIn();
    const code = on.newCode();
    await on.refresh(refreshToken, 'web', { scope: 'no.such' }).catch(() => undefined);
    on.database.reset();
    const misspelt = [
      refreshToken.slice(0, -1),
      `${refreshToken}A`,
      ` ${refreshToken}`,
      refreshToken.toLowerCase(),
      code,
    ];
    for (const token of misspelt) expect(await codeOf(on.refresh(token))).toBe('invalid_grant');
    expect(on.database.names.filter((name) => name.startsWith('token.'))).toEqual([]);
    expect((await on.redeem(code)).accessToken).not.toBe('');
  });

  it('uses the lifetimes of the application if it has its own', async () => {
    await on.directory.changeApplication('other', (record) => {
      record.lifetimes = { accessToken: 60, refreshTokenIdle: 100, refreshTokenAbsolute: 150 };
    });
    const { refreshToken, expiresIn } = await on.signIn({ clientId: 'other' });
    expect(expiresIn).toBe(60);
    await on.elapse(90);
    const { refreshToken: second } = await on.refresh(refreshToken, 'other');
    await on.elapse(61);
    expect(await codeOf(on.refresh(second, 'other'))).toBe('invalid_grant');
  });
});

describe('a refresh whose caller gave up', () => {
  it.each(['token.rotate', 'token.settle_rotation'])(
    'and that waited at %s meanwhile revokes nothing when its turn comes (REF-3, RFC 9700 section 4.14.2)',
    async (statement) => {
      const late = await worldThatHolds(statement);
      const { refreshToken: first } = await late.signIn();
      // Only a second request with the same token is settled.
      const second = statement === 'token.rotate' ? undefined : await late.refresh(first);
      const caller = new AbortController();
      late.hold();
      const given = late.token.exchange(
        {
          grantType: 'refresh_token',
          refreshToken: first,
          credentials: credentialsOf('web'),
          caller: { ipAddress: '192.0.2.7', issuer },
        },
        { signal: caller.signal },
      );
      const refused = expect(given).rejects.toThrow('the caller gave up');
      await late.reached;
      caller.abort();
      await refused;
      // The client retries and goes on before the statement of the request it gave up is sent.
      const { refreshToken: retried } = second ?? (await late.refresh(first));
      const { refreshToken: third } = await late.refresh(retried);
      late.database.reset();
      late.release();
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect((await late.refresh(third)).accessToken).not.toBe('');
      expect((await late.events()).map(({ event }) => event)).not.toContain('refresh.reuse_detected');
      await late.close();
    },
  );

  it('after the rotation leaves the token usable beyond the retry window (F10)', async () => {
    const { refreshToken } = await on.signIn();
    const caller = new AbortController();
    on.keys.beforeSign = () => caller.abort();
    const given = on.token.exchange(
      {
        grantType: 'refresh_token',
        refreshToken,
        credentials: credentialsOf('web'),
        caller: { ipAddress: '192.0.2.7', issuer },
      },
      { signal: caller.signal },
    );
    // Signed together with another request, so the signature comes all the same.
    const [left, other] = await Promise.allSettled([given, on.redeem(on.newCode())]);
    on.keys.beforeSign = undefined;
    expect([left.status, other.status]).toEqual(['rejected', 'fulfilled']);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await on.elapse(31);
    expect((await on.refresh(refreshToken)).accessToken).not.toBe('');
  });
});

describe('changes of user and application between two refreshes', () => {
  it('show in the next access token: current roles, without lost scopes (REF-8)', async () => {
    const { refreshToken } = await on.signIn();
    await on.directory.changeUser('ada', (user) => (user.roles = ['manager']));
    const lost = (name = '') => name === 'orders.write';
    const before = structuredClone(on.directory.applications.get('web'));
    await on.directory.changeApplication('web', (record) => {
      record.scopes = record.scopes.filter(({ name }) => !lost(name));
    });
    const { accessToken, refreshToken: second } = await on.refresh(refreshToken);
    expect(claimsOf(accessToken)).toMatchObject({ role: ['manager'] });
    expect(claimsOf(accessToken)['scope']).not.toContain('orders.write');
    expect(await codeOf(on.refresh(second, 'web', { scope: 'orders.write' }))).toBe('invalid_scope');
    await on.directory.changeApplication('web', (record) => {
      record.scopes = record.scopes.filter(({ name }) => name !== 'offline_access');
    });
    expect(await codeOf(on.refresh(second))).toBe('invalid_grant');
    await on.directory.changeApplication('web', (record) => Object.assign(record, before));
    expect(claimsOf((await on.refresh(second)).accessToken)['scope']).toContain('orders.write');
    await on.directory.changeUser('ada', (user) => (user.roles = ['clerk']));
  });

  it('leaves out a scope that belongs to another API resource now (RFC 8707 section 2.2)', async () => {
    const { refreshToken } = await on.signIn();
    const moved = (audience: string) =>
      on.directory.changeApplication('web', (record) => {
        record.scopes = record.scopes.map((scope) =>
          scope.name === 'orders.write' ? { ...scope, audience } : scope,
        );
      });
    await moved('https://billing.acme.example');
    const { accessToken, refreshToken: second } = await on.refresh(refreshToken);
    expect(claimsOf(accessToken)).toMatchObject({
      aud: 'https://orders.acme.example',
      scope: ['openid', 'profile', 'offline_access', 'orders.read'],
    });
    expect(await codeOf(on.refresh(second, 'web', { scope: 'orders.write' }))).toBe('invalid_scope');
    await moved('https://orders.acme.example');
    expect(claimsOf((await on.refresh(second)).accessToken)['scope']).toContain('orders.write');
  });

  it('refuses a resource of which the application has no scope left, and consumes nothing (RFC 8707 section 2.2)', async () => {
    const scopes = ['openid', 'offline_access'];
    const { accessToken, refreshToken } = await on.signIn({ scopes, resource: orders });
    expect(claimsOf(accessToken)).toMatchObject({ aud: orders, scope: scopes });
    const before = structuredClone(on.directory.applications.get('web'));
    await on.directory.changeApplication('web', (record) => {
      record.scopes = record.scopes.filter(({ audience }) => audience !== orders);
    });
    expect(await codeOf(on.refresh(refreshToken))).toBe('invalid_target');
    expect(await codeOf(on.refresh(refreshToken, 'web', { resource: orders }))).toBe('invalid_target');
    await on.directory.changeApplication('web', (record) => Object.assign(record, before));
    expect(claimsOf((await on.refresh(refreshToken)).accessToken)).toMatchObject({ aud: orders });
  });

  it('gives a token narrowed to identity scopes the issuer as audience, or the resource that the request names', async () => {
    const { refreshToken } = await on.signIn();
    const narrowed = await on.refresh(refreshToken, 'web', { scope: 'openid' });
    expect(claimsOf(narrowed.accessToken)).toMatchObject({ aud: issuer, scope: ['openid'] });
    const named = await on.refresh(narrowed.refreshToken, 'web', { scope: 'openid', resource: orders });
    expect(claimsOf(named.accessToken)).toMatchObject({ aud: orders, scope: ['openid'] });
  });

  it('refuses a refresh if the application has lost every scope of the request', async () => {
    const { refreshToken } = await on.signIn({ scopes: ['offline_access', 'orders.read'] });
    const before = structuredClone(on.directory.applications.get('web'));
    await on.directory.changeApplication('web', (record) => {
      record.scopes = record.scopes.filter(({ name }) => name !== 'orders.read');
    });
    expect(await codeOf(on.refresh(refreshToken, 'web', { scope: 'orders.read' }))).toBe('invalid_scope');
    expect(claimsOf((await on.refresh(refreshToken)).accessToken)).toMatchObject({
      scope: ['offline_access'],
    });
    await on.directory.changeApplication('web', (record) => Object.assign(record, before));
  });

  it('refuses an inactive user without consuming the client’s token, however much later (REF-7, R11)', async () => {
    const { refreshToken } = await on.signIn({ userId: 'bob' });
    await on.directory.changeUser('bob', (user) => (user.status = Status.LOCKED));
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await codeOf(on.refresh(refreshToken))).toBe('invalid_grant');
      await on.elapse(3600);
    }
    await on.directory.changeUser('bob', (user) => (user.status = Status.ACTIVE));
    const { refreshToken: successor } = await on.refresh(refreshToken);
    expect((await on.refresh(successor)).accessToken).not.toBe('');
  });

  it.each(['tenant', 'application'])(
    'refuses a sign-in that the raised policy of the %s does not accept (RFC 9470 §4)',
    async (whose) => {
      const raise = async (authenticationPolicy: string) => {
        if (whose === 'application')
          return on.directory.changeApplication('web', (record) => {
            record.authenticationPolicy = authenticationPolicy;
          });
        on.directory.addTenant('acme', { authenticationPolicy });
        return on.directory.changeTenant('acme', Status.ACTIVE);
      };
      const { refreshToken } = await on.signIn();
      for (const policy of ['second-factor', 'phishing-resistant', 'of a later version']) {
        await raise(policy);
        expect(await codeOf(on.refresh(refreshToken)), policy).toBe('invalid_grant');
        await on.elapse(3600);
      }
      await raise('any');
      expect((await on.refresh(refreshToken)).accessToken).not.toBe('');
    },
  );

  it('never treats a server error as theft: a successor that could not be signed is issued on retry', async () => {
    const { refreshToken } = await on.signIn();
    on.keys.line.cut = true;
    expect(await codeOf(on.refresh(refreshToken))).toBe('temporarily_unavailable');
    on.keys.line.cut = false;
    await on.elapse(3600);
    const { refreshToken: successor } = await on.refresh(refreshToken);
    expect((await on.refresh(successor)).accessToken).not.toBe('');
  });
});

describe('the retry window as a setting', () => {
  it('refuses the second use at once if it is zero (REF-4, R14)', async () => {
    const strict = await world({ settings: { TESSERA_REFRESH_RETRY_WINDOW: '0s' } });
    const { refreshToken } = await strict.signIn();
    const { refreshToken: successor } = await strict.refresh(refreshToken);
    expect(await codeOf(strict.refresh(refreshToken))).toBe('invalid_grant');
    expect(await codeOf(strict.refresh(successor))).toBe('invalid_grant');
    await strict.close();
  });

  it('covers a process that ends before or after the commit (F10, F11, R8)', async () => {
    for (const point of ['refresh.before_commit', 'refresh.after_commit']) {
      let armed = false;
      const crashing = await world({
        runtime: {
          failpoint(name) {
            if (armed && name === point) throw new Error('crash');
          },
        },
      });
      const { refreshToken } = await crashing.signIn();
      armed = true;
      expect(await codeOf(crashing.refresh(refreshToken))).not.toBe('no error');
      armed = false;
      const { refreshToken: successor } = await crashing.refresh(refreshToken);
      expect((await crashing.refresh(successor)).accessToken).not.toBe('');
      const events = (await crashing.events()).map(({ event }) => event);
      expect(events.filter((event) => event === 'refresh.rotated')).toHaveLength(2);
      await crashing.close();
    }
  });
});
