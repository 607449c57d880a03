import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addUmbra, atUmbra, umbraSignIn } from '../testing/umbra.ts';
import { call, caller, codeOf, credentialsOf, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

interface Options {
  readonly by?: string;
  readonly reason?: string;
  readonly ignoreUnknown?: boolean;
}

/** The outcome of a revocation, as an error code or `no error`. */
const revoke = (token: string, { by, reason = '', ignoreUnknown = false }: Options = {}) =>
  codeOf(
    on.token.revoke(
      { token, reason, ignoreUnknown, caller, ...(by !== undefined && { credentials: credentialsOf(by) }) },
      call(),
    ),
  );

describe('revocation', () => {
  it('revokes the family at once, whichever of its tokens is presented, and leaves access tokens active', async () => {
    const { refreshToken, accessToken } = await on.signIn();
    const { refreshToken: successor } = await on.refresh(refreshToken);
    expect(await revoke(refreshToken)).toBe('no error');
    for (const token of [refreshToken, successor]) {
      expect(await codeOf(on.refresh(token))).toBe('invalid_grant');
      expect((await on.introspect(token)).active).toBe(false);
    }
    expect((await on.introspect(accessToken)).active).toBe(true);
  });

  it('succeeds again for a revoked token, with the reason and address of the first', async () => {
    const { refreshToken } = await on.signIn();
    expect(await revoke(refreshToken, { reason: 'device lost: Ada’s phone' })).toBe('no error');
    expect(await revoke(refreshToken, { reason: 'again' })).toBe('no error');
    const revoked = (await on.events()).filter(({ event }) => event === 'token.revoked').at(-1);
    expect(revoked?.record).toMatchObject({
      ipAddress: '192.0.2.7',
      details: { reason: 'device lost: Ada’s phone' },
    });
  });

  it('removes tokens that were pasted into the reason (LOG-1)', async () => {
    const { refreshToken, accessToken } = await on.signIn();
    expect(
      await revoke(refreshToken, { reason: `stolen: ${refreshToken} ${accessToken.slice(0, 400)}` }),
    ).toBe('no error');
    const rows = await on.database.query<{ revoked_reason: string | null; record: unknown }>({
      name: 'test.reasons',
      text: `SELECT revoked_reason, NULL AS record FROM token.refresh_family WHERE revoked_reason IS NOT NULL
             UNION ALL SELECT NULL, record FROM token.audit_event`,
    });
    const written = JSON.stringify(rows.rows);
    expect(written).toContain('stolen: [redacted] [redacted]');
    for (const token of [refreshToken, accessToken]) expect(written).not.toContain(token.slice(3, 23));
  });

  it('refuses a missing token and any token but a refresh token of this server (contract, DELETE /revoke)', async () => {
    const { accessToken, refreshToken } = await on.signIn();
    for (const token of [
      '',
      'garbage',
      accessToken,
      on.newCode(),
      `${refreshToken}x`,
      refreshToken.slice(1),
    ]) {
      expect(await revoke(token)).toBe('invalid_request');
    }
    expect((await on.introspect(refreshToken)).active).toBe(true);
  });

  it('answers success for unknown tokens in the standard dialect and says that access tokens cannot be revoked (RFC 7009 section 2.2)', async () => {
    const { accessToken, idToken } = await on.signIn();
    for (const token of ['garbage', idToken, `${accessToken}x`]) {
      expect(await revoke(token, { by: 'web', ignoreUnknown: true })).toBe('no error');
    }
    expect(await revoke(accessToken, { by: 'web', ignoreUnknown: true })).toBe('unsupported_token_type');
    expect(await revoke('', { by: 'web', ignoreUnknown: true })).toBe('invalid_request');
  });

  it('does not reveal whether the access token of another client is active (RFC 7009 section 2.2, INT-6)', async () => {
    const { accessToken } = await on.signIn();
    for (const by of ['other', 'service', 'globex-web', 'spa']) {
      expect(await revoke(accessToken, { by, ignoreUnknown: true })).toBe('no error');
      expect(await revoke(`${accessToken}x`, { by, ignoreUnknown: true })).toBe('no error');
    }
  });

  it('answers a token of another client like an unknown one and does not revoke it (INT-6)', async () => {
    const { refreshToken } = await on.signIn();
    for (const by of ['other', 'service', 'globex-web']) {
      expect(await revoke(refreshToken, { by })).toBe('invalid_request');
      expect(await revoke(refreshToken, { by, ignoreUnknown: true })).toBe('no error');
    }
    expect((await on.introspect(refreshToken)).active).toBe(true);
    expect(await revoke(refreshToken, { by: 'web' })).toBe('no error');
    expect((await on.introspect(refreshToken)).active).toBe(false);
  });

  it('lets a public client revoke its own family (RFC 7009 section 2.1), and no other', async () => {
    const { refreshToken } = await on.signIn({ clientId: 'spa' });
    const { refreshToken: foreign } = await on.signIn();
    expect(await revoke(refreshToken, { by: 'spa' })).toBe('invalid_client');
    expect(await revoke(foreign, { by: 'spa', ignoreUnknown: true })).toBe('no error');
    expect((await on.introspect(foreign)).active).toBe(true);
    expect(await revoke(refreshToken, { by: 'spa', ignoreUnknown: true })).toBe('no error');
    expect((await on.introspect(refreshToken)).active).toBe(false);
  });

  it('without credentials revokes no token of another tenant at the issuer of a tenant', async () => {
    const { refreshToken } = await on.signIn();
    const at = (tenantId: string) =>
      codeOf(on.token.revoke({ token: refreshToken, reason: '', caller: { ...caller, tenantId } }, call()));
    expect(await at('umbra')).toBe('invalid_request');
    expect((await on.introspect(refreshToken)).active).toBe(true);
    expect(await at('acme')).toBe('no error');
  });

  it('without credentials at the shared issuer revokes no token of a tenant with an issuer of its own', async () => {
    await addUmbra(on);
    const { refreshToken } = await umbraSignIn(on);
    const isActive = async () =>
      (await on.introspection.introspect({ token: refreshToken, caller: atUmbra }, call())).active;
    expect(await isActive()).toBe(true);
    expect(await revoke(refreshToken)).toBe('invalid_request');
    expect(await isActive()).toBe(true);
    const own = { token: refreshToken, reason: '', caller: atUmbra };
    expect(await codeOf(on.token.revoke(own, call()))).toBe('no error');
    expect(await codeOf(on.token.revoke(own, call()))).toBe('no error');
    expect(await isActive()).toBe(false);
  });

  it('refuses wrong credentials before it reads the token', async () => {
    const { refreshToken } = await on.signIn();
    const credentials = credentialsOf('web', 'x'.repeat(43));
    const asked = on.token.revoke({ token: refreshToken, credentials, caller }, call());
    expect(await codeOf(asked)).toBe('invalid_client');
    expect((await on.introspect(refreshToken)).active).toBe(true);
  });

  it.each([
    ['x'.repeat(513), 'x'.repeat(512)],
    ['a\nb\u0001c\u001b[31m\u0085d', 'a b c [31m d'],
    [`x${'\u{1f4f1}'.repeat(512)}`, `x${'\u{1f4f1}'.repeat(511)}`],
    [`${'x'.repeat(500)} tr_${'y'.repeat(43)}`, `${'x'.repeat(500)} [redacted]`],
    ['ö'.repeat(60_000), 'ö'.repeat(512)],
  ])(
    'revokes for whatever reason, and keeps a short and printable one (contract; INT-7; %#)',
    async (reason, kept) => {
      const { refreshToken } = await on.signIn();
      expect(await revoke(refreshToken, { reason })).toBe('no error');
      expect((await on.introspect(refreshToken)).active).toBe(false);
      const revoked = (await on.events()).filter(({ event }) => event === 'token.revoked').at(-1);
      expect(revoked?.record).toMatchObject({ details: { reason: kept } });
      const { rows } = await on.database.query<{ found: number }>({
        name: 'test.reason',
        text: 'SELECT count(*)::int AS found FROM token.refresh_family WHERE revoked_reason = $1',
        values: [kept],
      });
      expect(rows).toEqual([{ found: 1 }]);
    },
  );

  it('leaves no token of the family active once it has returned, even with concurrent refreshes (REF-5)', async () => {
    for (let round = 0; round < 25; round += 1) {
      const { refreshToken } = await on.signIn();
      const [, ...answers] = await Promise.all([
        revoke(refreshToken),
        ...Array.from({ length: 4 }, () => on.refresh(refreshToken).catch(() => undefined)),
      ]);
      for (const token of [refreshToken, ...answers.map((answer) => answer?.refreshToken ?? refreshToken)]) {
        expect(await codeOf(on.refresh(token))).toBe('invalid_grant');
        expect((await on.introspect(token)).active).toBe(false);
      }
    }
  });
});
