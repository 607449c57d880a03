import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { Status } from '@tessera/proto-gen/directory';
import { local } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { accountName } from '../../limits/guess-counters.ts';
import { createWorld, password } from '../../testing/world.ts';
import type { World } from '../../testing/world.ts';
import { newPerson, signInAtPage } from '../../testing/visitor.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld({
    config: {
      TESSERA_LOGIN_FAILURES_PER_ACCOUNT: 4,
      TESSERA_LOGIN_FAILURES_PER_ADDRESS: 8,
      TESSERA_LOGIN_FAILURES_WINDOW: 60,
    },
    limits: { accountTotal: 40, addressTotal: 30 },
  });
});
afterAll(() => world.service.close());

const limited = { code: 'rate_limited', retryAfterSeconds: expect.any(Number) as number };

/** One attempt from a new browser; the address is a new one unless it is given. */
async function attempt(identifier: string, secret: string, ipAddress?: string, process = world) {
  const person = newPerson(process);
  if (ipAddress !== undefined) person.ipAddress = ipAddress;
  const { outcome } = await person.submit(await person.interaction(), { identifier, password: secret });
  return outcome.case;
}

describe('wrong credentials', () => {
  it('get the same response for an unknown, a locked and a disabled person and a wrong password', async () => {
    await world.directory.changeUser('acme-bob', { status: Status.LOCKED });
    expect(await attempt('bob', password)).toBe('wrongCredentials');
    await world.directory.changeUser('acme-bob', { status: Status.DISABLED });
    expect(await attempt('bob', password)).toBe('wrongCredentials');
    await world.directory.changeUser('acme-bob', { status: Status.ACTIVE });
    expect(await attempt('nobody', password)).toBe('wrongCredentials');
    expect(await attempt('bob', 'wrong')).toBe('wrongCredentials');
    expect(await attempt('bob', password)).toBe('signedIn');
  });

  it.each([
    ['a password of a megabyte', 'carol', 'p'.repeat(1_000_000)],
    ['a password of 1025 characters', 'carol', 'p'.repeat(1025)],
    ['an empty identifier', '  ', password],
    ['an identifier of a megabyte', 'a'.repeat(1_000_000), password],
  ])(
    'are the response to %s without hashing anything (CVE-2023-38492)',
    async (_what, identifier, secret) => {
      const checks = world.directory.calls.verifyPassword;
      expect(await attempt(identifier, secret)).toBe('wrongCredentials');
      expect(world.directory.calls.verifyPassword).toBe(checks);
    },
  );

  it('are audited without the identifier and without the password', async () => {
    await attempt('canary-person', 'canary-password');
    const rows = await world.audited('auth.login.failed');
    expect(rows.at(-1)).toMatchObject({
      outcome: 'failure',
      reason: 'wrong_credentials',
      tenantId: 'acme',
      clientId: 'acme-web',
      details: { identifier_hash: expect.stringMatching(/^[0-9a-f]{8}$/) as string },
    });
    expect(JSON.stringify(rows)).not.toContain('canary');
  });

  it('are audited with the person whose name it is, and without one if it is nobody’s', async () => {
    const wendy = { username: 'wendy', email: 'wendy@people.example' };
    world.directory.addUser('acme-wendy', { ...wendy, password });
    for (const identifier of ['wendy@people.example', 'wendys']) await attempt(identifier, 'wrong');
    const subjects = async () =>
      (await world.audited('auth.login.failed')).slice(-2).map(({ subject = 'nobody' }) => subject);
    await expect.poll(subjects).toEqual(['acme-wendy', 'nobody']);
  });
});

describe('guessing', () => {
  it('is limited per account from any address, in any spelling, even with the right password', async () => {
    for (const spelling of ['eve', 'EVE', ' e v e ', '\uff45ve']) {
      expect(await attempt(spelling, 'wrong')).toBe('wrongCredentials');
    }
    const checks = world.directory.calls.verifyPassword;
    await expect(attempt('Eve', 'wrong')).rejects.toMatchObject(limited);
    expect(world.directory.calls.verifyPassword).toBe(checks);
    const rows = await world.audited('ratelimit.exceeded');
    expect(rows.at(-1)).toMatchObject({ reason: 'sign-in.account', tenantId: 'acme' });
  });

  it('begins anew with another password and with an unlock, in every process, and GetLock tells of it', async () => {
    const other = await createWorld({ beside: world, config: { TESSERA_LOGIN_FAILURES_PER_ACCOUNT: 4 } });
    const admin = local(AuthorizeService, world.service, 'admin', silentLog());
    const heidi = { tenantId: 'acme', userId: 'acme-heidi' };
    const names = { username: 'heidi', email: 'heidi@people.example' };
    world.directory.addUser(heidi.userId, { ...names, password });
    const lock = async () => {
      for (let i = 0; i < 4; i += 1) expect(await attempt('heidi', 'wrong')).toBe('wrongCredentials');
      await expect(attempt('heidi', password)).rejects.toMatchObject(limited);
      await expect(attempt('heidi', password, undefined, other)).rejects.toMatchObject(limited);
    };
    try {
      expect((await admin.getLock(heidi)).endsAtMs).toBe(0n);
      await lock();
      const left = Number((await admin.getLock(heidi)).endsAtMs) - Date.now();
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(60_000);
      await world.directory.changeUser(heidi.userId, { validFrom: 7n });
      expect((await admin.getLock(heidi)).endsAtMs).toBe(0n);
      expect(await attempt('heidi', password)).toBe('signedIn');
      await lock();
      await world.directory.changeUser(heidi.userId, { unlockedAtMs: 1n });
      for (const process of [world, other])
        expect(await attempt('heidi', password, undefined, process)).toBe('signedIn');
      expect((await admin.getLock({ ...heidi, userId: 'acme-none' })).endsAtMs).toBe(0n);
    } finally {
      await other.service.close();
    }
  });

  it('is limited per person: user name, e-mail address and phone number share one limit', async () => {
    const names = { username: 'grace', email: 'grace@people.example', phoneNumber: '+46709' };
    world.directory.addUser('acme-grace', { ...names, name: 'Grace', password });
    for (const identifier of [...Object.values(names), 'Grace']) {
      expect(await attempt(identifier, 'wrong')).toBe('wrongCredentials');
    }
    // A refusal of its own would tell that the three are one person's.
    for (const identifier of Object.values(names)) {
      expect(await attempt(identifier, password)).toBe('wrongCredentials');
    }
    const reasons = async (): Promise<unknown[]> =>
      (await world.audited('ratelimit.exceeded')).map((row) => row['reason']);
    await expect.poll(reasons).toContain('sign-in.person');
  });

  it('takes the same work for an unknown identifier as for a known one: lookups, hashing, counting (ENUM-1)', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction();
    const costs: unknown[] = [];
    for (const identifier of ['bob', 'nobody-at-all']) {
      const { findUser: lookups, verifyPassword: passwordChecks } = world.directory.calls;
      world.redis.reset();
      await person.submit(interactionId, { identifier, password: 'wrong' });
      costs.push({
        lookups: world.directory.calls.findUser - lookups,
        passwordChecks: world.directory.calls.verifyPassword - passwordChecks,
        redis: world.redis.names,
      });
    }
    const redis = ['GET', 'limit.count', 'limit.count', 'limit.end'];
    const cost = { lookups: 1, passwordChecks: 1, redis };
    expect(costs).toEqual([cost, cost]);
    expect(await attempt('bob', password)).toBe('signedIn');
  });

  it('lets exactly the limit through when two hundred attempts race', async () => {
    const people = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const person = newPerson(world);
        return { person, interactionId: await person.interaction() };
      }),
    );
    const checks = world.directory.calls.verifyPassword;
    const results = await Promise.allSettled(
      people.map(({ person, interactionId }) =>
        person.submit(interactionId, { identifier: 'mallory', password: 'wrong' }),
      ),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
    expect(world.directory.calls.verifyPassword - checks).toBe(4);
  });

  it('is limited per address over many accounts, and that address uses up no account’s attempts', async () => {
    const address = '192.0.2.77';
    for (let i = 0; i < 8; i += 1)
      expect(await attempt(`guess-${i}`, 'wrong', address)).toBe('wrongCredentials');
    for (let i = 0; i < 10; i += 1) {
      await expect(attempt('bob', 'wrong', address)).rejects.toMatchObject(limited);
    }
    expect(await attempt('bob', password)).toBe('signedIn');
  });

  it('does not count right passwords against an address, and gives nothing back for wrong ones', async () => {
    const address = '192.0.2.78';
    for (let i = 0; i < 12; i += 1) expect(await attempt('ada', password, address)).toBe('signedIn');
    for (let i = 0; i < 7; i += 1) {
      expect(await attempt(`stranger-${i}`, 'wrong', address)).toBe('wrongCredentials');
      expect(await attempt('ada', password, address)).toBe('signedIn');
    }
    expect(await attempt('stranger', 'wrong', address)).toBe('wrongCredentials');
    await expect(attempt('stranger', 'wrong', address)).rejects.toMatchObject(limited);
  });

  it('counts right passwords too, per account and per address, with limits of their own', async () => {
    const names = { username: 'nina', email: '', phoneNumber: '' };
    world.directory.addUser('acme-nina', { ...names, name: 'Nina', password });
    const reasons = async (): Promise<unknown[]> =>
      (await world.audited('ratelimit.exceeded')).map((row) => row['reason']);
    for (let i = 0; i < 40; i += 1) expect(await attempt('nina', password)).toBe('signedIn');
    await expect(attempt('nina', password)).rejects.toMatchObject(limited);
    await expect.poll(reasons).toContain('sign-in.account-total');
    const address = '192.0.2.79';
    for (let i = 0; i < 30; i += 1) {
      world.directory.addUser(`acme-user-${i}`, { ...names, username: `user-${i}`, name: '', password });
      expect(await attempt(`user-${i}`, password, address)).toBe('signedIn');
    }
    await expect(attempt('user-0', password, address)).rejects.toMatchObject(limited);
    await expect.poll(reasons).toContain('sign-in.address-total');
  });

  it('counts per tenant: the same name in two tenants is two accounts', async () => {
    for (let i = 0; i < 4; i += 1) await attempt('trent', 'wrong');
    await expect(attempt('trent', 'wrong')).rejects.toMatchObject(limited);
    const direct = await signInAtPage(world, {
      browser: newPerson(world).context(),
      tenantId: 'umbra',
      identifier: 'trent',
      password: 'wrong',
    });
    expect(direct.session).toBeUndefined();
  });

  it('resets the attempts of an account after a success', async () => {
    for (let round = 0; round < 3; round += 1) {
      for (let i = 0; i < 3; i += 1) expect(await attempt('ada', 'wrong')).toBe('wrongCredentials');
      expect(await attempt('ada', password)).toBe('signedIn');
    }
  });

  it('does not count attempts that the directory could not check', async () => {
    const person = newPerson(world);
    const interaction = await person.interaction();
    const tries = (secret: string) => person.submit(interaction, { identifier: 'ada', password: secret });
    world.directory.unavailable = true;
    try {
      for (let index = 0; index < 10; index += 1) {
        await expect(tries(password)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
      }
    } finally {
      world.directory.unavailable = false;
    }
    for (let index = 0; index < 3; index += 1) {
      expect((await tries('wrong')).outcome.case).toBe('wrongCredentials');
    }
    expect((await tries(password)).outcome.case).toBe('signedIn');
  });

  it('never advances its pending request', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction();
    for (let i = 0; i < 4; i += 1)
      await person.submit(interactionId, { identifier: 'oscar', password: 'no' });
    await expect(person.submit(interactionId, { identifier: 'oscar' })).rejects.toMatchObject(limited);
    const shown = await world.gateway.getInteraction({ browser: person.context(), interactionId });
    expect(shown.step?.interaction?.interactionId).toBe(interactionId);
  });
});

describe('the keys of the counters', () => {
  it('take no quadratic time for combining marks', () => {
    const marks = `a${'\u0315'.repeat(260_000)}${'\u0327'.repeat(260_000)}`;
    const started = process.cpuUsage();
    accountName(marks);
    expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
  });

  it.each([
    ['Ada@People.Example', 'ada@people.example'],
    ['+46 (70) 123-45', '+467012345'],
    ['a\u200bd\u00ada', 'ada'],
    ['\uff21\uff24\uff21', 'ada'],
  ])('count %j like %j', (one, other) => {
    expect(accountName(one)).toBe(accountName(other));
  });
});
