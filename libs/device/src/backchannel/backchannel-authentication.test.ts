import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorCode } from '@tessera/oauth';
import { Status } from '@tessera/proto-gen/directory';
import {
  codeOf,
  createWorld,
  newAddress,
  newPerson,
  person,
  startBackchannel,
  waitingFor,
} from '../testing/world.ts';
import type { World } from '../testing/world.ts';

let world: World;
let strict: World;
beforeAll(async () => {
  world = await createWorld({
    config: { TESSERA_CIBA_REQUESTS_PER_USER: 1000 },
    limits: () => ({ pendingPerUser: 5 }),
  });
  strict = await createWorld({ beside: world, config: { TESSERA_PROFILE: 'strict' } });
});
afterAll(async () => {
  await strict.service.close();
  await world.service.close();
});

describe('starting a backchannel request', () => {
  it('returns auth_req_id, lifetime and interval (CIBA Core §7.3)', async () => {
    const { username, userId } = newPerson(world);
    const { authReqId, expiresIn, interval } = await startBackchannel(world, username);
    expect(authReqId).toMatch(/^ta_[A-Za-z0-9_-]{43}$/);
    expect([expiresIn, interval]).toEqual([300, 5]);
    const rows = await world.audited('ciba.started', { clientId: 'acme-bank', subject: userId });
    expect(JSON.stringify(rows)).not.toContain(authReqId);
  });

  it.each([' ADA', 'ada@people.example', '+46700000000'])('finds the person by %s', async (hint) => {
    const before = (await waitingFor(world, person('ada'))).length;
    await startBackchannel(world, hint);
    expect(await waitingFor(world, person('ada'))).toHaveLength(before + 1);
  });

  it('needs openid in the strict profile only (CIBA Core §7.1)', async () => {
    const scope = 'orders.read';
    expect((await startBackchannel(world, 'ada', { scope })).authReqId).toMatch(/^ta_/);
    await expect(startBackchannel(strict, 'ada', { scope })).rejects.toMatchObject({ code: 'invalid_scope' });
  });

  it('shows the person application, scopes, address and binding message (CIBA-5)', async () => {
    const alone = await createWorld();
    const ipAddress = newAddress();
    await startBackchannel(alone, 'ada', { bindingMessage: 'Kiosk 7 — ✓ Ω', ipAddress });
    expect(await waitingFor(alone, person('ada'))).toMatchObject([
      {
        tenantId: 'acme',
        clientId: 'acme-bank',
        applicationName: 'The acme-bank',
        scopes: ['openid', 'orders.read'],
        bindingMessage: 'Kiosk 7 — ✓ Ω',
        ipAddress,
      },
    ]);
    await alone.service.close();
  });

  it.each<[string, Parameters<typeof startBackchannel>[2], ErrorCode]>([
    ['no client', { clientId: '', clientSecret: '' }, 'invalid_request'],
    ['an unknown client', { clientId: 'nobody' }, 'invalid_client'],
    ['a wrong secret', { clientSecret: 'wrong' }, 'invalid_client'],
    ['a client without the grant type', { clientId: 'acme-web' }, 'unauthorized_client'],
    ['a client without an approval channel', { clientId: 'acme-mute' }, 'unauthorized_client'],
    ['a client whose approval channel is not offered', { clientId: 'acme-hook' }, 'unauthorized_client'],
    ['no scope', { scope: '' }, 'invalid_request'],
    ['a blank scope', { scope: '  ' }, 'invalid_request'],
    ['a scope that was not granted', { scope: 'openid orders.write' }, 'invalid_scope'],
    ['a long binding message', { bindingMessage: 'x'.repeat(65) }, 'invalid_binding_message'],
    ['a line break in the binding message', { bindingMessage: 'a\nb' }, 'invalid_binding_message'],
    [
      'a reordering character in the binding message',
      { bindingMessage: 'a\u202eb' },
      'invalid_binding_message',
    ],
    ['a run of combining marks', { bindingMessage: `a${'\u0315'.repeat(4)}` }, 'invalid_binding_message'],
    ['a blank letter, U+3164', { bindingMessage: 'Order\u31644711' }, 'invalid_binding_message'],
    ['a blank letter, U+115F', { bindingMessage: 'Order\u115f4711' }, 'invalid_binding_message'],
    ['a blank Braille pattern', { bindingMessage: 'Order\u28004711' }, 'invalid_binding_message'],
    ['an invisible joiner', { bindingMessage: 'Order\u034f4711' }, 'invalid_binding_message'],
  ])('refuses %s (CIBA Core §13)', async (_what, difference, code) => {
    const started = startBackchannel(world, 'bob', difference);
    expect(await codeOf(started)).toBe(code);
  });

  it.each([
    'Order 4711',
    'Zahlung über 12 €',
    'ตั้งค่า ๑๒๓',
    'भुगतान संख्या ४२',
    'Tiê\u0301ng Viê\u0323t',
    'Paid ✔\ufe0f',
  ])('accepts the binding message %s', async (bindingMessage) => {
    await startBackchannel(world, newPerson(world).username, { bindingMessage });
  });

  it('refuses a request without a login hint before any look-up', async () => {
    const searches = world.directory.calls.findUser;
    expect(await codeOf(startBackchannel(world, ''))).toBe('invalid_request');
    expect(await codeOf(startBackchannel(world, '  '))).toBe('invalid_request');
    expect(world.directory.calls.findUser).toBe(searches);
  });

  it('requires the identifier of a confidential client in the contract profile, and its secret in the strict profile', async () => {
    expect(await codeOf(startBackchannel(world, 'bob', { clientSecret: '' }))).toBe('no error');
    expect(await codeOf(startBackchannel(strict, 'bob', { clientSecret: '' }))).toBe('invalid_client');
    expect(await codeOf(startBackchannel(strict, 'bob'))).toBe('no error');
  });

  it('accepts public clients in the contract profile and refuses them in the strict profile (CIBA-3)', async () => {
    const publicClient = { clientId: 'acme-tv', clientSecret: '' };
    expect(await codeOf(startBackchannel(world, 'bob', publicClient))).toBe('no error');
    expect(await codeOf(startBackchannel(strict, 'bob', publicClient))).toBe('unauthorized_client');
  });

  it.each(['acme-bank', 'acme-tv'])(
    'hides the binding message from the user if the client did not authenticate, for %s',
    async (clientId) => {
      const who = newPerson(world);
      await startBackchannel(world, who.username, { clientId, clientSecret: '', bindingMessage: 'Pay 1 €' });
      expect(await waitingFor(world, who)).toMatchObject([{ clientId, bindingMessage: '' }]);
    },
  );

  it('validates a binding message even if it hides it', async () => {
    const started = startBackchannel(world, 'bob', { clientSecret: '', bindingMessage: 'x'.repeat(65) });
    expect(await codeOf(started)).toBe('invalid_binding_message');
  });

  it('prompts for authenticated clients first, however many other requests came before', async () => {
    const who = newPerson(world);
    for (let i = 0; i < 6; i += 1) {
      await startBackchannel(world, who.username, { clientSecret: '', requestedExpiry: 60 });
    }
    await startBackchannel(world, who.username, { bindingMessage: 'Order 4711' });
    const waiting = await waitingFor(world, who);
    expect(waiting).toHaveLength(6);
    expect(waiting[0]).toMatchObject({ bindingMessage: 'Order 4711' });
  });

  it('counts unauthenticated requests per login hint separately from authenticated ones', async () => {
    const limited = await createWorld({ beside: world, config: { TESSERA_CIBA_REQUESTS_PER_USER: 1 } });
    const { username } = newPerson(world);
    const start = (clientSecret?: string) =>
      codeOf(startBackchannel(limited, username, clientSecret === undefined ? {} : { clientSecret }));
    expect([await start(''), await start('')]).toEqual(['no error', 'rate_limited']);
    expect([await start(), await start()]).toEqual(['no error', 'rate_limited']);
    await limited.service.close();
  });

  it('requires authentication if the application declares it', async () => {
    await world.directory.changeApplication('acme-bank', { authenticatedStartRequired: true });
    expect(await codeOf(startBackchannel(world, 'bob', { clientSecret: '' }))).toBe('invalid_client');
    expect(await codeOf(startBackchannel(world, 'bob'))).toBe('no error');
    await world.directory.changeApplication('acme-bank', { authenticatedStartRequired: false });
  });

  it('refuses empty credentials of a confidential client (RFC 6749 §2.3.1)', async () => {
    const empty = { clientSecret: '', attempted: true };
    expect(await codeOf(startBackchannel(world, 'bob', empty))).toBe('invalid_client');
    expect(await codeOf(startBackchannel(world, 'bob', { ...empty, clientId: 'acme-tv' }))).toBe('no error');
  });

  it('uses the lifetime of the application, at most one hour', async () => {
    await world.directory.changeApplication('acme-bank', { lifetimes: { authorizationRequest: 42 } });
    expect((await startBackchannel(world, 'bob')).expiresIn).toBe(42);
    await world.directory.changeApplication('acme-bank', { lifetimes: { authorizationRequest: 86_400 } });
    expect((await startBackchannel(world, 'bob')).expiresIn).toBe(3600);
    expect((await startBackchannel(world, 'bob', { requestedExpiry: 86_400 })).expiresIn).toBe(3600);
    await world.directory.changeApplication('acme-bank', { lifetimes: { authorizationRequest: 0 } });
  });

  it('returns the interval of the application if it has its own', async () => {
    await world.directory.changeApplication('acme-bank', { lifetimes: { pollInterval: 7 } });
    expect((await startBackchannel(world, 'bob')).interval).toBe(7);
    await world.directory.changeApplication('acme-bank', { lifetimes: {} });
    expect((await startBackchannel(world, 'bob')).interval).toBe(5);
  });

  it('shortens the lifetime on request and never lengthens it (CIBA Core §7.1)', async () => {
    expect((await startBackchannel(world, 'bob', { requestedExpiry: 60 })).expiresIn).toBe(60);
    expect((await startBackchannel(world, 'bob', { requestedExpiry: 4_000_000_000 })).expiresIn).toBe(300);
  });

  it('limits requests per login hint, in any spelling, whether or not the person exists', async () => {
    const limited = await createWorld({ config: { TESSERA_CIBA_REQUESTS_PER_USER: 3 } });
    for (const spellings of [
      ['ada', ' Ada', 'ADA', 'a-da'],
      ['nobody', ' Nobody', 'NOBODY', 'no.body'],
    ]) {
      const codes = [];
      for (const hint of spellings) codes.push(await codeOf(startBackchannel(limited, hint)));
      expect(codes).toEqual(['no error', 'no error', 'no error', 'rate_limited']);
    }
    expect((await limited.audited('ratelimit.exceeded', {}, 2))[0]).toMatchObject({
      reason: 'ciba.start.user',
    });
    await limited.service.close();
  });
});

describe('a request for a person who cannot approve', () => {
  const outward = async (hint: string) => {
    const started = await startBackchannel(world, hint);
    const { expiresIn, interval, authReqId } = started;
    return { expiresIn, interval, length: authReqId.length, polled: await codeOf(started.poll()) };
  };

  it('gets the same response: unknown, locked, disabled or with too many pending requests (CIBA-1)', async () => {
    const known = await outward('eve');
    expect(known.polled).toBe('authorization_pending');
    expect(await outward('nobody')).toEqual(known);
    expect(await outward('x'.repeat(100_000))).toEqual(known);
    expect(await outward(`${'x'.repeat(320)}\u{1f600}`)).toEqual(known);
    const shown = (await waitingFor(world, person('eve'))).length;
    for (const status of [Status.LOCKED, Status.DISABLED]) {
      await world.directory.changeUser('acme-eve', { status });
      expect(await outward('eve')).toEqual(known);
      await world.directory.changeUser('acme-eve', { status: Status.ACTIVE });
    }
    expect(await waitingFor(world, person('eve')), 'no user is prompted').toHaveLength(shown);
    for (let more = shown; more < 5; more += 1) await startBackchannel(world, 'eve');
    expect(await outward('eve')).toEqual(known);
    expect(await waitingFor(world, person('eve')), 'no bombing (CIBA-5)').toHaveLength(5);
    const count = { unknown_user: 3, inactive_user: 2, too_many_pending: 1 };
    const trail = await Promise.all(
      Object.entries(count).map(([reason, n]) => world.audited('ciba.rejected', { reason }, n)),
    );
    expect(JSON.stringify(trail), 'no login hint in clear').not.toMatch(/nobody|"eve"|xxx/);
  });

  it('gets the same response, without a prompt, if the person lacks the required role (DEV-2)', async () => {
    const [clerk, driver] = [newPerson(world), newPerson(world)];
    await world.directory.changeUser(clerk.userId, { roles: ['clerk'] });
    await world.directory.changeUser(driver.userId, { roles: ['driver'] });
    await world.directory.changeApplication('acme-bank', { allowedRoles: ['clerk'] });
    const allowed = await outward(clerk.username);
    expect(await outward(driver.username)).toEqual(allowed);
    await world.directory.changeApplication('acme-bank', { allowedRoles: [] });
    expect(await waitingFor(world, clerk)).toHaveLength(1);
    expect(await waitingFor(world, driver), 'no user is prompted').toEqual([]);
    expect(await world.audited('ciba.rejected', { reason: 'role_missing' })).toHaveLength(1);
  });

  it('is not shown to a person who lacks the required role or is not active (DEV-2)', async () => {
    const clerk = newPerson(world);
    await world.directory.changeUser(clerk.userId, { roles: ['clerk'] });
    await world.directory.changeApplication('acme-bank', { allowedRoles: ['clerk'] });
    await startBackchannel(world, clerk.username);
    expect(await waitingFor(world, clerk)).toHaveLength(1);
    await world.directory.changeUser(clerk.userId, { roles: ['driver'] });
    expect(await waitingFor(world, clerk)).toEqual([]);
    await world.directory.changeUser(clerk.userId, { roles: ['clerk'] });
    await world.directory.changeUser(clerk.userId, { status: Status.LOCKED });
    expect(await waitingFor(world, clerk)).toEqual([]);
    await world.directory.changeUser(clerk.userId, { status: Status.ACTIVE });
    expect(await waitingFor(world, clerk), 'it was hidden, not decided').toHaveLength(1);
    await world.directory.changeApplication('acme-bank', { allowedRoles: [] });
  });

  it('does not find the person in another tenant', async () => {
    const before = (await waitingFor(world, person('ada', 'umbra'))).length;
    await startBackchannel(world, 'ada');
    expect(await waitingFor(world, person('ada', 'umbra'))).toHaveLength(before);
  });

  it('fails with a retryable error while the directory is unavailable', async () => {
    const alone = await createWorld();
    await startBackchannel(alone, 'ada');
    alone.directory.unavailable = true;
    expect(await codeOf(startBackchannel(alone, 'ada'))).toBe('temporarily_unavailable');
    await alone.service.close();
  });
});
