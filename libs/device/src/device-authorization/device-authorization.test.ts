import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorCode } from '@tessera/oauth';
import { Status } from '@tessera/proto-gen/directory';
import type { DeviceLimits } from '../config.ts';
import {
  codeOf,
  createWorld,
  decideDevice,
  newAddress,
  openDevice,
  orders,
  person,
  startDevice,
} from '../testing/world.ts';
import type { World } from '../testing/world.ts';

/** A budget of wrong user codes of all who are not signed in. */
const total =
  (global: number) =>
  ({ failures }: DeviceLimits) => ({ failures: { ...failures, global } });

let world: World;
let strict: World;
beforeAll(async () => {
  world = await createWorld();
  strict = await createWorld({ beside: world, config: { TESSERA_PROFILE: 'strict' } });
});
afterAll(async () => {
  await strict.service.close();
  await world.service.close();
});

describe('starting the device flow', () => {
  it('returns device code, user code, lifetime and interval (RFC 8628 §3.2)', async () => {
    const { deviceCode, userCode, expiresIn, interval } = await startDevice(world);
    expect(deviceCode).toMatch(/^td_[A-Za-z0-9_-]{43}$/);
    expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect([expiresIn, interval]).toEqual([600, 5]);
    const rows = await world.audited('device.started');
    expect(JSON.stringify(rows)).not.toContain(deviceCode);
    expect(JSON.stringify(rows)).not.toContain(userCode);
  });

  it('uses the lifetime of the application, at most fifteen minutes (RFC 8628 §5.1)', async () => {
    await world.directory.changeApplication('acme-box', { lifetimes: { authorizationRequest: 42 } });
    expect((await startDevice(world, 'acme-box')).expiresIn).toBe(42);
    await world.directory.changeApplication('acme-box', { lifetimes: { authorizationRequest: 86_400 } });
    expect((await startDevice(world, 'acme-box')).expiresIn).toBe(900);
    await world.directory.changeApplication('acme-box', { lifetimes: { authorizationRequest: 0 } });
  });

  it('returns and enforces the interval of the application if it has its own (RFC 8628 §3.2, §3.5)', async () => {
    await world.directory.changeApplication('acme-box', { lifetimes: { pollInterval: 1 } });
    const started = await startDevice(world, 'acme-box');
    expect(started.interval).toBe(1);
    expect(await codeOf(started.poll())).toBe('authorization_pending');
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect(await codeOf(started.poll()), 'the default would be too fast').toBe('authorization_pending');
    await world.directory.changeApplication('acme-box', { lifetimes: {} });
  });

  it.each<[string, string, Parameters<typeof startDevice>[2], ErrorCode]>([
    ['no client', '', { clientSecret: '' }, 'invalid_request'],
    ['an unknown client', 'nobody', { clientSecret: '' }, 'invalid_client'],
    ['a wrong secret', 'acme-box', { clientSecret: 'wrong' }, 'invalid_client'],
    ['a secret of a public client', 'acme-tv', { clientSecret: 'any' }, 'invalid_client'],
    ['a client without the grant type', 'acme-web', {}, 'unauthorized_client'],
    ['a malformed scope', 'acme-tv', { scope: 'openid orders\\read' }, 'invalid_scope'],
    ['a scope that was not granted', 'acme-tv', { scope: 'openid orders.write' }, 'invalid_scope'],
    ['scopes of two resources', 'acme-tv', { scope: 'orders.read stock.read' }, 'invalid_scope'],
    ['an unknown resource', 'acme-tv', { resource: 'https://other.example' }, 'invalid_target'],
  ])('refuses %s', async (_what, clientId, difference, code) => {
    expect(await codeOf(startDevice(world, clientId, difference))).toBe(code);
  });

  it('asks for the declared scopes without offline_access if the device names none (RFC 8628 §3.1, RFC 6749 §3.3)', async () => {
    const { userCode } = await startDevice(world, 'acme-tv', { scope: '', resource: orders });
    const { request } = await world.device.getDeviceAuthorization({ userCode, ...person() });
    expect(request?.scopes).toEqual(['openid', 'profile', 'orders.read']);
    expect(await codeOf(startDevice(world, 'acme-tv', { scope: '' })), 'two resources').toBe('invalid_scope');
  });

  it('asks for what its application always gets, too', async () => {
    const application = world.directory.applications.get('acme-tv');
    const own = { ...application, clientId: 'acme-more', defaultScopes: ['profile', 'stock.read'] };
    world.directory.addApplication('acme-more', own);
    const { userCode } = await startDevice(world, 'acme-more', { clientSecret: '' });
    const { request } = await world.device.getDeviceAuthorization({ userCode, ...person() });
    expect(request?.scopes).toEqual(['openid', 'orders.read', 'profile']);
  });

  it('audits refusals with client and reason', async () => {
    await codeOf(startDevice(world, 'acme-web'));
    const rows = await world.audited('device.rejected', { clientId: 'acme-web' });
    expect(rows[0]).toMatchObject({ reason: 'unauthorized_client', tenant_id: 'acme' });
    await codeOf(startDevice(world, 'acme-bank', { clientSecret: 'wrong' }));
    const failures = await world.audited('client.auth_failed', { clientId: 'acme-bank' });
    expect(failures[0]).toMatchObject({ reason: 'secret_mismatch', tenant_id: 'acme' });
    expect(JSON.stringify(failures)).not.toContain('wrong');
  });

  it('requires the identifier of a confidential client in the contract profile, and its secret in the strict profile', async () => {
    expect(await codeOf(startDevice(world, 'acme-box', { clientSecret: '' }))).toBe('no error');
    expect(await codeOf(startDevice(strict, 'acme-box', { clientSecret: '' }))).toBe('invalid_client');
    expect(await codeOf(startDevice(strict, 'acme-box'))).toBe('no error');
    expect(await codeOf(startDevice(strict, 'acme-tv'))).toBe('no error');
  });

  it('takes an assertion in place of a secret, without client_id too, and audits who was refused (RFC 7521 §4.2)', async () => {
    strict.directory.assertions.set('of the box', { clientId: 'acme-box' });
    strict.directory.assertions.set('expired', { clientId: 'acme-box', refusal: 'assertion_expired' });
    const start = (clientId: string, clientAssertion: string) =>
      codeOf(startDevice(strict, clientId, { clientSecret: '', attempted: true, clientAssertion }));
    expect(await start('acme-box', 'of the box')).toBe('no error');
    expect(await start('', 'of the box')).toBe('no error');
    expect(await start('', 'unknown')).toBe('invalid_client');
    expect(await start('', 'expired')).toBe('invalid_client');
    const failure = { clientId: 'acme-box', reason: 'assertion_expired' };
    expect(await strict.audited('client.auth_failed', failure)).toHaveLength(1);
  });

  it('refuses empty credentials of a confidential client (RFC 6749 §2.3.1)', async () => {
    const empty = { clientSecret: '', attempted: true };
    expect(await codeOf(startDevice(world, 'acme-box', empty))).toBe('invalid_client');
    expect(await codeOf(startDevice(world, 'acme-tv', empty))).toBe('no error');
  });

  it('refuses a disabled application and the applications of a disabled tenant', async () => {
    await world.directory.changeApplication('umbra-tv', { status: Status.DISABLED });
    expect(await codeOf(startDevice(world, 'umbra-tv'))).toBe('invalid_client');
    await world.directory.changeApplication('umbra-tv', { status: Status.ACTIVE });
    await world.directory.changeTenant('umbra', Status.DISABLED);
    expect(await codeOf(startDevice(world, 'umbra-tv', { clientSecret: '' }))).toBe('invalid_client');
    await world.directory.changeTenant('umbra', Status.ACTIVE);
    expect(await codeOf(startDevice(world, 'umbra-tv'))).toBe('no error');
  });

  it('limits requests per address and per client', async () => {
    const limited = await createWorld({ limits: () => ({ requests: { perAddress: 2, perClient: 4 } }) });
    const ipAddress = newAddress();
    const codes = [];
    for (let i = 0; i < 3; i += 1) codes.push(await codeOf(startDevice(limited, 'acme-tv', { ipAddress })));
    for (let i = 0; i < 3; i += 1) codes.push(await codeOf(startDevice(limited)));
    expect(codes).toEqual(['no error', 'no error', 'rate_limited', 'no error', 'no error', 'rate_limited']);
    const reasons = (await limited.audited('ratelimit.exceeded', {}, 2)).map(({ reason }) => reason);
    expect(reasons).toEqual(['start.address.unauthenticated', 'start.client.unauthenticated']);
    expect(await limited.audited('device.rejected', {}, 0), 'limits have their own event').toEqual([]);
    await limited.service.close();
  });

  it('counts unauthenticated requests separately from those of the authenticated client', async () => {
    const limited = await createWorld({ limits: () => ({ requests: { perAddress: 2, perClient: 3 } }) });
    const ipAddress = newAddress();
    const codes = async (times: number, clientSecret?: string, from?: string) => {
      const all = [];
      for (let i = 0; i < times; i += 1) {
        const start = startDevice(limited, 'acme-box', {
          ...(clientSecret !== undefined && { clientSecret }),
          ...(from !== undefined && { ipAddress: from }),
        });
        all.push(await codeOf(start));
      }
      return all;
    };
    expect(await codes(3, '', ipAddress)).toEqual(['no error', 'no error', 'rate_limited']);
    expect(await codes(2, ''), 'of the client').toEqual(['no error', 'rate_limited']);
    expect(await codes(3, 'wrong', ipAddress)).toEqual([
      'invalid_client',
      'invalid_client',
      'invalid_client',
    ]);
    expect(await codes(2, undefined, ipAddress), 'the client itself').toEqual(['no error', 'no error']);
    expect(await codes(2), 'limits of its own').toEqual(['no error', 'rate_limited']);
    expect(await codes(1, ''), 'used up before').toEqual(['rate_limited']);
    await limited.service.close();
  });

  it('requires authentication if the application declares it', async () => {
    await world.directory.changeApplication('acme-box', { authenticatedStartRequired: true });
    expect(await codeOf(startDevice(world, 'acme-box', { clientSecret: '' }))).toBe('invalid_client');
    expect(await codeOf(startDevice(world, 'acme-box'))).toBe('no error');
    await world.directory.changeApplication('acme-box', { authenticatedStartRequired: false });
  });

  it('fails with temporarily_unavailable while the directory is unavailable', async () => {
    const alone = await createWorld();
    alone.directory.unavailable = true;
    expect(await codeOf(startDevice(alone))).toBe('temporarily_unavailable');
    await alone.service.close();
  });
});

describe('opening a user code', () => {
  const open = (userCode: string, who = person()) =>
    world.device.getDeviceAuthorization({ userCode, ...who });

  it('shows application, scopes and origin of the request, however the code is typed', async () => {
    const ipAddress = newAddress();
    const { userCode, deviceCode } = await startDevice(world, 'acme-tv', { ipAddress });
    const who = person();
    const { request } = await open(` ${userCode.toLowerCase().replace('-', ' ')}`, who);
    expect(request).toMatchObject({
      tenantId: 'acme',
      clientId: 'acme-tv',
      applicationName: 'The acme-tv',
      scopes: ['openid', 'orders.read'],
      ipAddress,
    });
    expect(request?.requestId).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(deviceCode).not.toContain(request?.requestId);
    const rest = Number(request?.expiresAt) - Date.now() / 1000;
    expect(rest).toBeGreaterThan(590);
    expect(rest).toBeLessThanOrEqual(600);
    expect((await open(userCode, who)).request?.requestId, 'opening it again').toBe(request?.requestId);
  });

  it('returns only the tenant to sign in to while nobody is signed in', async () => {
    const { userCode } = await startDevice(world);
    const { request } = await world.device.getDeviceAuthorization({ userCode, ipAddress: newAddress() });
    expect(request).toMatchObject({
      tenantId: 'acme',
      requestId: '',
      clientId: '',
      applicationName: '',
      scopes: [],
      ipAddress: '',
    });
    expect((await open(userCode)).request?.requestId).not.toBe('');
  });

  it('treats a code of another tenant or person, or a decided one, as unknown (DEV-3)', async () => {
    const { userCode } = await startDevice(world);
    const owner = person();
    const requestId = await openDevice(world, userCode, owner);
    expect(await codeOf(open('BBBB-BBBB'))).toBe('not_found');
    expect(await codeOf(open(userCode, person('ada', 'umbra')))).toBe('not_found');
    expect(await codeOf(open(userCode, person('bob')))).toBe('not_found');
    await decideDevice(world, requestId, owner);
    expect(await codeOf(open(userCode, owner))).toBe('not_found');
    for (const reason of ['unknown', 'other_tenant', 'other_person']) {
      await world.audited('device.user_code.failed', { reason });
    }
  });

  it('does not open the request of a disabled application', async () => {
    const { userCode } = await startDevice(world, 'umbra-tv');
    await world.directory.changeApplication('umbra-tv', { status: Status.DISABLED });
    expect(await codeOf(open(userCode, person('ada', 'umbra')))).toBe('not_found');
    await world.directory.changeApplication('umbra-tv', { status: Status.ACTIVE });
  });

  it('requires session, tenant and user together', async () => {
    const half = { userCode: 'BBBB-BBBB', sessionId: 's', ipAddress: newAddress() };
    await expect(world.device.getDeviceAuthorization(half)).rejects.toThrow(/belong together/);
  });

  it('blocks a session after five wrong codes, even with a correct one (RFC 8628 §5.1, DEV-7)', async () => {
    const { userCode } = await startDevice(world);
    const who = person();
    for (let wrong = 0; wrong < 5; wrong += 1) expect(await codeOf(open('BBBB-BBBB', who))).toBe('not_found');
    const refused = open(userCode, { ...who, ipAddress: newAddress() });
    await expect(refused).rejects.toMatchObject({ code: 'rate_limited' });
    await expect(refused).rejects.toSatisfy(
      (error: { retryAfterSeconds?: number }) => (error.retryAfterSeconds ?? 0) > 800,
    );
    expect((await world.audited('device.user_code.throttled'))[0]).toMatchObject({ reason: 'session' });
    expect(await codeOf(open(userCode)), 'another session is free').toBe('no error');
  });

  it('blocks an address after twenty wrong codes, with a new session for each or without one (DEV-7)', async () => {
    const { userCode } = await startDevice(world);
    const ipAddress = newAddress();
    const guesses = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        codeOf(
          i % 2 === 0
            ? open('BBBB-BBBB', { ...person(), ipAddress })
            : world.device.getDeviceAuthorization({ userCode: 'BBBB-BBBB', ipAddress }),
        ),
      ),
    );
    expect(guesses.filter((code) => code === 'not_found')).toHaveLength(20);
    expect(await codeOf(open(userCode, { ...person(), ipAddress }))).toBe('rate_limited');
  });

  it('blocks a user after twenty wrong codes, with a new session and address for each (DEV-7)', async () => {
    const { userCode } = await startDevice(world);
    const guesses = await Promise.all(
      Array.from({ length: 30 }, () => codeOf(open('BBBB-BBBB', person('eve')))),
    );
    expect(guesses.filter((code) => code === 'not_found')).toHaveLength(20);
    expect(await codeOf(open(userCode, person('eve')))).toBe('rate_limited');
    expect(await codeOf(open(userCode, person('eve', 'umbra'))), 'in another tenant').toBe('not_found');
    expect(await codeOf(open(userCode, person('bob')))).toBe('no error');
  });

  it('blocks a user after a hundred wrong codes in a day, across windows (RFC 8628 §5.1)', async () => {
    const quick = await createWorld({ config: { TESSERA_LOGIN_FAILURES_WINDOW: 0.05 } });
    const { userCode } = await startDevice(quick);
    const guess = () => codeOf(openDevice(quick, 'BBBB-BBBB', person('mallory')));
    const isBlocked = async () =>
      (await quick.audited('device.user_code.throttled', {}, 0)).some(
        ({ reason }) => reason === 'person_day',
      );
    let wrong = 0;
    for (let waits = 0; waits < 1_000 && !(await isBlocked());) {
      if ((await guess()) === 'not_found') wrong += 1;
      else waits += 1;
    }
    expect(wrong).toBe(100);
    const refused = openDevice(quick, userCode, person('mallory'));
    await expect(refused).rejects.toSatisfy(
      (error: { retryAfterSeconds?: number }) => (error.retryAfterSeconds ?? 0) > 23 * 3600,
    );
    expect(await codeOf(openDevice(quick, userCode, person('bob')))).toBe('no error');
    await quick.service.close();
  });

  it('requires a sign-in first, without blocking anyone, once the global budget is used up (DEV-7)', async () => {
    const limited = await createWorld({ limits: total(7) });
    const { userCode } = await startDevice(limited);
    const anonymously = (typed: string) =>
      codeOf(limited.device.getDeviceAuthorization({ userCode: typed, ipAddress: newAddress() }));
    const guesses = await Promise.all(Array.from({ length: 20 }, () => anonymously('BBBB-BBBB')));
    expect(guesses.filter((code) => code === 'not_found')).toHaveLength(7);
    expect(guesses.filter((code) => code === 'login_required')).toHaveLength(13);
    expect(await anonymously(userCode), 'a right code is not looked up either').toBe('login_required');
    expect(await codeOf(openDevice(limited, 'BBBB-BBBB', person()))).toBe('not_found');
    expect(await codeOf(openDevice(limited, userCode, person()))).toBe('no error');
    await limited.service.close();
  });

  it('leaves the global budget alone when signed-in users enter wrong codes', async () => {
    const limited = await createWorld({ limits: total(2) });
    for (let i = 0; i < 4; i += 1) await codeOf(openDevice(limited, 'BBBB-BBBB', person()));
    const anonymous = limited.device.getDeviceAuthorization({
      userCode: 'BBBB-BBBB',
      ipAddress: newAddress(),
    });
    expect(await codeOf(anonymous)).toBe('not_found');
    await limited.service.close();
  });
});

it('grants the scopes requested at the start to the person who approves (RFC 8628 §3.5)', async () => {
  const { userCode, poll } = await startDevice(world, 'acme-tv', {
    scope: 'openid orders.read stock.read',
    resource: orders,
  });
  const who = person();
  await decideDevice(world, await openDevice(world, userCode, who), who);
  expect((await poll()).userGrant).toMatchObject({ scopes: ['openid', 'orders.read'], resource: orders });
});
