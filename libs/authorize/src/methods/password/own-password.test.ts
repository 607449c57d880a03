import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPerson } from '../../testing/visitor.ts';
import { createWorld, password } from '../../testing/world.ts';
import type { World } from '../../testing/world.ts';

const chosen = 'another passphrase of ada';
let world: World;
beforeAll(async () => {
  world = await createWorld({ config: { TESSERA_LOGIN_FAILURES_PER_ACCOUNT: 4 } });
});
afterAll(() => world.service.close());

const change = async (
  person: ReturnType<typeof newPerson>,
  presentPassword = password,
  newPassword = chosen,
) =>
  (await world.gateway.changePassword({ browser: person.context(), presentPassword, newPassword })).outcome;
const isSignedIn = async (person: ReturnType<typeof newPerson>) =>
  (await world.gateway.getSession({ browser: person.context() })).session !== undefined;

describe('a person who changes their password', () => {
  it('gets a new session, and every other one ends', async () => {
    const [here, there] = [newPerson(world), newPerson(world)];
    await here.signIn();
    await there.signIn();
    const outcome = await change(here);
    if (outcome.case !== 'session') throw new Error(`no session but ${outcome.case}`);
    expect(outcome.value.sessionToken).not.toBe(here.sessionToken);
    expect(outcome.value.ended).toBeUndefined();
    expect([await isSignedIn(here), await isSignedIn(there)]).toEqual([false, false]);
    here.sessionToken = outcome.value.sessionToken;
    expect(await isSignedIn(here)).toBe(true);
    const again = newPerson(world);
    const { outcome: refused } = await again.submit(await again.interaction());
    expect(refused.case).toBe('wrongCredentials');
    await again.signIn({}, { password: chosen });
    expect(await change(again, chosen, password)).toMatchObject({ case: 'session' });
  });

  it('must be signed in', async () => {
    expect(await change(newPerson(world))).toMatchObject({ case: 'signedOut' });
    const person = newPerson(world);
    await person.signIn({}, { identifier: 'bob' });
    await world.directory.changeUser('acme-bob', { validFrom: BigInt(Math.floor(Date.now() / 1000) + 60) });
    expect(await change(person)).toMatchObject({ case: 'signedOut' });
    await world.directory.changeUser('acme-bob', { validFrom: 0n });
  });

  it('learns what is wrong with the new one', async () => {
    const person = newPerson(world);
    await person.signIn({}, { identifier: 'bob' });
    expect(await change(person, password, 'short')).toEqual({
      case: 'passwordProblem',
      value: 'must have at least 8 characters',
    });
    expect(await isSignedIn(person)).toBe(true);
  });

  it('has as many guesses at the present one as at sign-in, and no giant one is hashed', async () => {
    const person = newPerson(world);
    await person.signIn({}, { identifier: 'bob' });
    const checks = world.directory.calls.verifyPassword;
    expect(await change(person, 'p'.repeat(1025))).toMatchObject({ case: 'wrongPassword' });
    expect(world.directory.calls.verifyPassword).toBe(checks);
    for (let guess = 0; guess < 3; guess += 1)
      expect(await change(person, 'wrong')).toMatchObject({ case: 'wrongPassword' });
    await expect(change(person)).rejects.toMatchObject({ code: 'rate_limited' });
    expect(await isSignedIn(person)).toBe(true);
  });

  it('is told of a lock that guesses by their other names made, as it is known who asks', async () => {
    const person = newPerson(world);
    world.directory.addUser('acme-two', {
      tenantId: 'acme',
      username: 'two',
      email: 'two@acme.example',
      password,
    });
    await person.signIn({}, { identifier: 'two' });
    const stranger = newPerson(world);
    for (const identifier of ['two', 'two@acme.example'])
      for (let guess = 0; guess < 2; guess += 1)
        await stranger.submit(await stranger.interaction(), { identifier, password: 'wrong' });
    const other = newPerson(world);
    other.sessionToken = person.sessionToken;
    await expect(change(other)).rejects.toMatchObject({ code: 'rate_limited' });
  });
});
