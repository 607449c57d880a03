import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporarilyUnavailable } from '@tessera/oauth';
import { Status } from '@tessera/proto-gen/directory';
import { testDatabase } from '@tessera/test-kit';
import { migrations } from '../wiring.ts';
import { call, caller, codeOf, credentialsOf, grantOf, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

type Start = (clientId: string) => Promise<() => Promise<unknown>>;

/** Each grant up to the point where its client asks for tokens. A new grant type belongs in this table. */
const grants: Record<string, Start> = {
  authorization_code: async (clientId) => {
    const code = on.newCode({ clientId });
    return () => on.redeem(code, clientId);
  },
  refresh_token: async (clientId) => {
    const { refreshToken } = await on.signIn({ clientId });
    return () => on.refresh(refreshToken, clientId);
  },
  device_code: async (clientId) => {
    const deviceCode = on.device.start('td_');
    on.device.approve(deviceCode, { ...grantOf(), clientId });
    return () => on.exchange(clientId, { grantType: 'device_code', deviceCode });
  },
  ciba: async (clientId) => {
    const authReqId = on.device.start('ta_');
    on.device.approve(authReqId, { ...grantOf(), clientId });
    return () => on.exchange(clientId, { grantType: 'ciba', authReqId });
  },
  client_credentials: async (clientId) => () =>
    on.exchange(clientId, { grantType: 'client_credentials', scope: 'orders.read' }),
};

const cases = Object.keys(grants).flatMap((grant) =>
  ['web', 'spa']
    .filter((client) => grant !== 'client_credentials' || client === 'web')
    .map((client) => ({ grant, client })),
);

const personal = cases.filter(({ grant }) => grant !== 'client_credentials');

describe.each(personal)('the grant of a user by $grant to $client', ({ grant, client }) => {
  const start = () => grants[grant]?.(client) ?? Promise.reject(new Error('no such grant'));

  it.each(['user', 'application'])(
    'becomes invalid with a change of the %s, even if the change is undone (REF-7, I3)',
    async (kind) => {
      const validFrom = grantOf().authTime + 1n;
      const moved = (to: bigint) =>
        kind === 'user'
          ? on.directory.changeUser('ada', (user) => (user.validFrom = to))
          : on.directory.changeApplication(client, (record) => (record.validFrom = to));
      const ask = await start();
      await moved(validFrom);
      expect(await codeOf(ask())).toBe('invalid_grant');
      expect(await codeOf(ask())).toBe('invalid_grant');
      await moved(validFrom - 1n);
      expect(await codeOf((await start())())).toBe('no error');
      await moved(0n);
    },
  );
});

describe.each(cases)('$grant of $client', ({ grant, client }) => {
  const start = () => grants[grant]?.(client) ?? Promise.reject(new Error('no such grant'));

  it('is refused while user, application or tenant is not active, and can then be retried (REF-7)', async () => {
    const ask = await start();
    const states: [string, () => Promise<void>, () => Promise<void>][] = [
      ...[Status.LOCKED, Status.DISABLED].map(
        (status): [string, () => Promise<void>, () => Promise<void>] => [
          grant === 'client_credentials' ? 'no error' : 'invalid_grant',
          () => on.directory.changeUser('ada', (user) => (user.status = status)),
          () => on.directory.changeUser('ada', (user) => (user.status = Status.ACTIVE)),
        ],
      ),
      [
        'invalid_client',
        () => on.directory.changeApplication(client, (record) => (record.status = Status.DISABLED)),
        () => on.directory.changeApplication(client, (record) => (record.status = Status.ACTIVE)),
      ],
      [
        'invalid_client',
        () => on.directory.changeTenant('acme', Status.DISABLED),
        () => on.directory.changeTenant('acme', Status.ACTIVE),
      ],
      [
        'unauthorized_client',
        () =>
          on.directory.changeApplication(
            client,
            (record) => (record.grantTypes = record.grantTypes.filter((name) => name !== grant)),
          ),
        () =>
          on.directory.changeApplication(
            client,
            (record) => (record.grantTypes = [...record.grantTypes, grant]),
          ),
      ],
    ];
    for (const [code, change, restore] of states) {
      await change();
      expect(await codeOf(ask())).toBe(code);
      await restore();
    }
    expect(await codeOf(ask())).toBe('no error');
  });

  it('is refused while the user has no role that the application requires, and can then be retried (DEV-2)', async () => {
    const ask = await start();
    const refused = grant === 'client_credentials' ? 'no error' : 'invalid_grant';
    await on.directory.changeApplication(client, (record) => (record.allowedRoles = ['manager', 'driver']));
    expect(await codeOf(ask())).toBe(refused);
    await on.directory.changeApplication(client, (record) => (record.allowedRoles = ['manager', 'clerk']));
    await on.directory.changeUser('ada', (user) => (user.roles = []));
    expect(await codeOf(ask())).toBe(refused);
    await on.directory.changeUser('ada', (user) => (user.roles = ['clerk']));
    expect(await codeOf(ask())).toBe('no error');
    await on.directory.changeApplication(client, (record) => (record.allowedRoles = []));
    const reasons = (await on.events()).map(({ reason }) => reason);
    if (grant !== 'client_credentials') expect(reasons).toContain('role_missing');
  });

  it('is refused with wrong credentials and consumes nothing (R11)', async () => {
    const ask = await start();
    const wrong = [
      credentialsOf(client, 'x'.repeat(43)),
      ...(client === 'web' ? [credentialsOf(client, '')] : []),
    ];
    for (const credentials of wrong) {
      const request = { grantType: grant, code: 'x', codeVerifier: 'x', redirectUri: 'x', refreshToken: 'x' };
      const asked = on.token.exchange(
        { ...request, deviceCode: 'x', authReqId: 'x', credentials, caller },
        call(),
      );
      expect(await codeOf(asked)).toBe('invalid_client');
    }
    expect(await codeOf(ask())).toBe('no error');
  });

  it('names each missing parameter in the message that the dialects translate', async () => {
    const names: Record<string, [string, string][]> = {
      authorization_code: [
        ['code', 'code'],
        ['codeVerifier', 'code_verifier'],
        ['redirectUri', 'redirect_uri'],
      ],
      refresh_token: [['refreshToken', 'refresh_token']],
      device_code: [['deviceCode', 'device_code']],
      ciba: [['authReqId', 'auth_req_id']],
    };
    for (const [field, parameter] of names[grant] ?? []) {
      const others = Object.fromEntries((names[grant] ?? []).map(([name]) => [name, 'x']));
      const asked = on.exchange(client, { grantType: grant, ...others, [field]: '' });
      await expect(asked).rejects.toThrow(new RegExp(`^The parameter ${parameter} is missing\\.$`));
    }
  });

  it('is temporarily_unavailable while keys is unavailable, and can then be retried', async () => {
    const ask = await start();
    on.keys.line.cut = true;
    expect(await codeOf(ask())).toBe('temporarily_unavailable');
    on.keys.line.cut = false;
    expect(await codeOf(ask())).toBe('no error');
  });
});

describe('the token endpoint', () => {
  it('refuses unknown grant types before anything else (RFC 6749 section 5.2)', async () => {
    for (const grantType of [
      'password',
      'implicit',
      'AUTHORIZATION_CODE',
      'authorization_code ',
      '__proto__',
      'constructor',
    ]) {
      const asked = on.token.exchange({
        grantType,
        credentials: credentialsOf('web', 'x'.repeat(43)),
        caller,
      });
      expect(await codeOf(asked)).toBe('unsupported_grant_type');
    }
  });

  it('names the missing grant type and the missing client', async () => {
    const missing = (name: string) => new RegExp(`^The parameter ${name} is missing\\.$`);
    await expect(on.exchange('web', {})).rejects.toThrow(missing('grant_type'));
    await expect(on.exchange('', { grantType: 'client_credentials' })).rejects.toThrow(missing('client_id'));
    const nobody = on.token.exchange({ grantType: 'client_credentials', caller });
    await expect(nobody).rejects.toThrow(missing('client_id'));
  });

  it('answers every failed client authentication with the same message (RFC 6749 section 5.2)', async () => {
    const messages = new Set<string>();
    for (const credentials of [
      credentialsOf('nobody', 'x'.repeat(43)),
      credentialsOf('web', 'x'.repeat(43)),
      credentialsOf('web', ''),
      credentialsOf('spa', 'x'.repeat(43)),
    ]) {
      const asked = on.token.exchange({ grantType: 'client_credentials', credentials, caller });
      messages.add(
        await asked.then(
          () => 'accepted',
          (error: Error) => error.message,
        ),
      );
    }
    expect([...messages]).toEqual(['Client authentication failed.']);
  });

  it('answers every invalid refresh token with the same message', async () => {
    const used = await on.signIn();
    await on.refresh((await on.refresh(used.refreshToken)).refreshToken);
    const foreign = await on.signIn({ clientId: 'other' });
    const revoked = await on.signIn();
    await on.token.revoke({ token: revoked.refreshToken, caller }, call());
    const messages = new Set<string>();
    for (const token of ['garbage', used.refreshToken, foreign.refreshToken, revoked.refreshToken]) {
      messages.add(
        await on.refresh(token).then(
          () => 'accepted',
          (error: Error) => error.message,
        ),
      );
    }
    expect([...messages]).toEqual(['The refresh token is not valid.']);
  });

  it('audits each denied request once with its reason, and neither polls nor malformed requests', async () => {
    const refused = await world();
    await codeOf(refused.exchange('web', { grantType: 'password' }));
    await codeOf(
      refused.exchange('web', { grantType: 'device_code', deviceCode: refused.device.start('td_') }),
    );
    await codeOf(refused.exchange('service', { grantType: 'client_credentials', scope: 'no.such' }));
    await codeOf(refused.exchange('spa', { grantType: 'client_credentials' }));
    await codeOf(
      refused.token.exchange({
        grantType: 'ciba',
        authReqId: 'x',
        credentials: credentialsOf('nobody'),
        caller,
      }),
    );
    const { refreshToken } = await refused.signIn();
    await codeOf(refused.refresh(refreshToken, 'other'));
    await codeOf(refused.refresh('garbage'));
    const events = (await refused.events()).map(({ event, reason, record }) =>
      [event, reason ?? '', (record['tenantId'] as string | undefined) ?? '']
        .filter((text) => text !== '')
        .join(' '),
    );
    // Each is in the trail of the tenant whose application asked, once it is known.
    expect(events.toSorted()).toEqual([
      'client.auth_failed unknown_client',
      'code.redeemed acme',
      'refresh.client_mismatch client_mismatch acme',
      'token.denied public_client acme',
      'token.denied unknown acme',
      'token.issued acme',
      'token.scope_denied invalid_scope acme',
    ]);
    await refused.close();
  });
});

describe('a store that fails', () => {
  it('makes every request temporarily_unavailable and never makes a token or grant invalid (REF-9, I6)', async () => {
    const database = await testDatabase(migrations);
    const line = { cut: false };
    const faulty = await world({
      runtime: {
        database: {
          ...database,
          query: (statement) =>
            line.cut ? Promise.reject(temporarilyUnavailable()) : database.query(statement),
        },
      },
    });
    const { refreshToken, accessToken } = await faulty.signIn();
    const code = faulty.newCode();
    line.cut = true;
    const asked = [
      () => faulty.refresh(refreshToken),
      () => faulty.redeem(code),
      () => faulty.introspect(refreshToken),
      () => faulty.token.revoke({ token: refreshToken, caller }, call()),
    ];
    for (const ask of asked) expect(await codeOf(ask())).toBe('temporarily_unavailable');
    expect((await faulty.introspect(accessToken)).active).toBe(true);
    expect((await faulty.exchange('web', { grantType: 'client_credentials' })).accessToken).not.toBe('');
    line.cut = false;
    expect((await faulty.introspect(refreshToken)).active).toBe(true);
    expect((await faulty.redeem(code)).accessToken).not.toBe('');
    expect((await faulty.refresh(refreshToken)).accessToken).not.toBe('');
    await faulty.close();
  });
});
