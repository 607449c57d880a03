import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom, opaqueValue } from '@tessera/kit';
import { Status } from '@tessera/proto-gen/directory';
import { newPerson, signInAtPage } from '../testing/visitor.ts';
import type { Person } from '../testing/visitor.ts';
import { createWorld, password } from '../testing/world.ts';
import type { World } from '../testing/world.ts';

const limit = 4;
const addressLimit = 30;

let world: World;
beforeAll(async () => {
  world = await createWorld({
    config: { TESSERA_LOGIN_FAILURES_PER_ACCOUNT: limit, TESSERA_LOGIN_FAILURES_PER_ADDRESS: addressLimit },
  });
});
afterAll(() => world.service.close());

const limited = { code: 'rate_limited', retryAfterSeconds: expect.any(Number) as number };

/** A new account of `acme`, so that tests do not share limits. */
function newAccount(username: string): string {
  const identifiers = { email: `${username}@people.example`, phoneNumber: '' };
  world.directory.addUser(`acme-${username}`, { username, ...identifiers, name: username, password });
  return username;
}

/** A browser that has signed in to an account before and is signed out. */
async function knownBrowser(identifier: string): Promise<Person> {
  const person = newPerson(world);
  await person.signIn({}, { identifier });
  person.sessionToken = '';
  return person;
}

type Outcome = 'signedIn' | 'wrongCredentials';
type Attempt = (person: Person, identifier: string, secret: string) => Promise<Outcome>;

const atLogin: Attempt = async (person, identifier, secret) => {
  const { outcome } = await person.submit(await person.interaction({ prompt: 'login' }), {
    identifier,
    password: secret,
  });
  if (outcome.case !== 'signedIn' && outcome.case !== 'wrongCredentials') throw new Error(outcome.case);
  return outcome.case;
};

const atDevice: Attempt = async (person, identifier, secret) => {
  const given = { browser: person.context(), tenantId: 'acme', identifier, password: secret };
  const { session } = await signInAtPage(world, given);
  return session === undefined ? 'wrongCredentials' : 'signedIn';
};

/** Uses up the attempts of an account shared by browsers without a sign-in to it. */
async function lockOut(identifier: string): Promise<void> {
  for (let index = 0; index < limit; index += 1) {
    expect(await atLogin(newPerson(world), identifier, 'wrong')).toBe('wrongCredentials');
  }
  await expect(atLogin(newPerson(world), identifier, password)).rejects.toMatchObject(limited);
}

describe.each([
  ['at /login', atLogin],
  ['at /device and /approvals', atDevice],
] as const)('a sign-in %s', (where, attempt) => {
  const account = (name: string) => newAccount(`${name}-${where.length}`);

  it('succeeds in a browser that has signed in before, whatever others tried', async () => {
    const owner = account('olivia');
    const known = await knownBrowser(owner);
    await lockOut(owner);
    expect(await attempt(known, owner, 'wrong')).toBe('wrongCredentials');
    expect(await attempt(known, owner, password)).toBe('signedIn');
    expect(await attempt(known, `${owner}@people.example`, password)).toBe('signedIn');
    await expect(attempt(newPerson(world), owner, password)).rejects.toMatchObject(limited);
  });

  it('succeeds when a signed-in person confirms the password, whatever others tried', async () => {
    const owner = account('otto');
    const person = newPerson(world);
    await person.signIn({}, { identifier: owner });
    await lockOut(owner);
    expect(await attempt(person, owner, password)).toBe('signedIn');
  });

  it('has no more attempts in a known browser than elsewhere, under all names of the account together', async () => {
    const owner = account('oona');
    const known = await knownBrowser(owner);
    for (let index = 0; index < limit; index += 1) {
      const identifier = index % 2 === 0 ? owner : `${owner}@people.example`;
      expect(await attempt(known, identifier, 'wrong')).toBe('wrongCredentials');
    }
    const checks = world.directory.calls.verifyPassword;
    for (const identifier of [owner, `${owner}@people.example`]) {
      await expect(attempt(known, identifier, password)).rejects.toMatchObject(limited);
    }
    expect(world.directory.calls.verifyPassword).toBe(checks);
    expect(await attempt(newPerson(world), owner, password)).toBe('signedIn');
    await expect(attempt(known, owner, password)).rejects.toMatchObject(limited);
    const reasons = async () => (await world.audited('ratelimit.exceeded')).map((row) => row['reason']);
    await expect.poll(reasons).toContain('sign-in.known-browser');
  });
});

describe('the attempts of a known browser', () => {
  it('end exactly at the limit when wrong passwords race, and leave those of other browsers alone', async () => {
    const owner = newAccount('rita');
    const known = await knownBrowser(owner);
    const race = async (browsers: readonly Person[]) => {
      const checks = world.directory.calls.verifyPassword;
      const interactions = await Promise.all(browsers.map((person) => person.interaction()));
      const results = await Promise.allSettled(
        browsers.map((person, index) =>
          person.submit(interactions[index] ?? '', { identifier: owner, password: 'wrong' }),
        ),
      );
      const checked = results.filter(({ status }) => status === 'fulfilled').length;
      expect(world.directory.calls.verifyPassword - checks).toBe(checked);
      return checked;
    };
    /** The same browser behind an address of its own. */
    const copy = () => {
      const person = newPerson(world);
      person.knownBrowserToken = known.knownBrowserToken;
      return person;
    };
    expect(await race(Array.from({ length: limit - 1 }, copy))).toBe(limit - 1);
    expect(await race([copy(), copy()])).toBe(1);
    expect(await race(Array.from({ length: 40 }, copy))).toBe(0);
    expect(await race(Array.from({ length: 40 }, () => newPerson(world)))).toBe(limit);
  });

  it('start again after a success, which gives other browsers none', async () => {
    const owner = newAccount('ruth');
    const known = await knownBrowser(owner);
    await lockOut(owner);
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < limit - 1; index += 1) {
        expect(await atLogin(known, owner, 'wrong')).toBe('wrongCredentials');
      }
      expect(await atLogin(known, owner, password)).toBe('signedIn');
    }
    await expect(atLogin(newPerson(world), owner, password)).rejects.toMatchObject(limited);
  });

  it('count against the address like all others', async () => {
    const owner = newAccount('rosa');
    const known = await knownBrowser(owner);
    known.ipAddress = '192.0.2.90';
    for (let index = 0; index < addressLimit; index += 1) {
      const stranger = newPerson(world);
      stranger.ipAddress = known.ipAddress;
      expect(await atLogin(stranger, `nobody-${index}`, 'wrong')).toBe('wrongCredentials');
    }
    await expect(atLogin(known, owner, password)).rejects.toMatchObject(limited);
  });

  it('are not used up while the directory cannot check them', async () => {
    const owner = newAccount('rudi');
    const known = await knownBrowser(owner);
    world.directory.unavailable = true;
    try {
      for (let index = 0; index < limit * 2; index += 1) {
        await expect(atDevice(known, owner, password)).rejects.toMatchObject({
          code: 'temporarily_unavailable',
        });
      }
    } finally {
      world.directory.unavailable = false;
    }
    expect(await atLogin(known, owner, password)).toBe('signedIn');
  });
});

describe('a browser is not known', () => {
  it('to another account, another tenant, or without a value that was given out', async () => {
    const owner = newAccount('nora');
    const known = await knownBrowser(owner);
    const other = newAccount('nils');
    await lockOut(other);
    await expect(atLogin(known, other, password)).rejects.toMatchObject(limited);
    for (const value of ['', 'x', `${known.knownBrowserToken}x`, opaqueValue('tk_', systemRandom)]) {
      const person = newPerson(world);
      person.knownBrowserToken = value;
      await expect(atLogin(person, other, password)).rejects.toMatchObject(limited);
    }
    world.directory.addUser('umbra-nora', {
      tenantId: 'umbra',
      username: owner,
      email: '',
      phoneNumber: '',
      name: 'Nora',
      password,
    });
    const abroad = (person: Person) =>
      signInAtPage(world, {
        browser: person.context(),
        tenantId: 'umbra',
        identifier: owner,
        password: 'wrong',
      });
    for (let index = 0; index < limit; index += 1) await abroad(newPerson(world));
    await expect(abroad(known)).rejects.toMatchObject(limited);
  });
});

describe('a known browser', () => {
  it('gets no further than a wrong password with an old password or as a disabled person', async () => {
    const owner = newAccount('kurt');
    const known = await knownBrowser(owner);
    await world.directory.changeUser('acme-kurt', { status: Status.DISABLED });
    expect(await atLogin(known, owner, password)).toBe('wrongCredentials');
    await world.directory.changeUser('acme-kurt', { status: Status.ACTIVE, password: 'another one' });
    expect(await atLogin(known, owner, password)).toBe('wrongCredentials');
    expect(await atLogin(known, owner, 'another one')).toBe('signedIn');
  });

  it('is held by the lock of an account that was locked down since, until the person signs in there again', async () => {
    const owner = newAccount('lena');
    const known = await knownBrowser(owner);
    // The time of a lockdown is the next second, before which nobody signs in.
    const lockedDownAt = BigInt(Math.floor(Date.now() / 1000) + 1);
    await world.directory.changeUser('acme-lena', { lockedDownAt });
    await lockOut(owner);
    await expect(atLogin(known, owner, password)).rejects.toMatchObject(limited);
    await world.directory.changeUser('acme-lena', { unlockedAtMs: 1n });
    await expect
      .poll(() => BigInt(Math.floor(Date.now() / 1000)), { timeout: 3_000 })
      .toBeGreaterThanOrEqual(lockedDownAt);
    expect(await atLogin(known, owner, password)).toBe('signedIn');
    known.sessionToken = '';
    await lockOut(owner);
    expect(await atLogin(known, owner, password)).toBe('signedIn');
  });

  it('keeps its value for every person who signs in there; only its SHA-256 is stored', async () => {
    const [first, second] = [newAccount('kate'), newAccount('karl')];
    const shared = await knownBrowser(first);
    const value = shared.knownBrowserToken;
    expect(value).toMatch(/^tk_[\w-]{43}$/);
    await shared.signIn({ prompt: 'login' }, { identifier: second });
    expect(shared.knownBrowserToken).toBe(value);
    shared.sessionToken = '';
    for (const owner of [first, second]) {
      await lockOut(owner);
      expect(await atLogin(shared, owner, password)).toBe('signedIn');
    }
    const { rows } = await world.database.query<{ row: string }>({
      name: 'test.known_browsers',
      text: 'SELECT row_to_json(k)::text AS row FROM authorize.known_browser AS k',
    });
    expect(rows.length).toBeGreaterThan(1);
    for (const { row } of rows) expect(row).not.toContain(value.slice(3));
  });

  it('gets a new value in place of a malformed one', async () => {
    const person = newPerson(world);
    person.knownBrowserToken = 'tk_short';
    await person.signIn({}, { identifier: newAccount('kira') });
    expect(person.knownBrowserToken).toMatch(/^tk_[\w-]{43}$/);
  });

  it('causes the same work for an unknown identifier as for that of a stranger (ENUM-1)', async () => {
    const known = await knownBrowser(newAccount('kai'));
    const stranger = newAccount('kim');
    const interactionId = await known.interaction();
    const costs: unknown[] = [];
    for (const identifier of [stranger, 'nobody-at-all']) {
      const { findUser, verifyPassword } = world.directory.calls;
      world.redis.reset();
      world.database.reset();
      await known.submit(interactionId, { identifier, password: 'wrong' });
      costs.push({
        lookups: world.directory.calls.findUser - findUser,
        passwordChecks: world.directory.calls.verifyPassword - verifyPassword,
        redis: world.redis.names,
        database: world.database.names.filter((name) => name.includes('browser')),
      });
    }
    const redis = ['GET', 'limit.count', 'limit.count', 'limit.end'];
    const cost = { lookups: 1, passwordChecks: 1, redis, database: ['authorize.find_known_browser'] };
    expect(costs).toEqual([cost, cost]);
  });
});
