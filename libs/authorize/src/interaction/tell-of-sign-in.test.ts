import { temporarilyUnavailable } from '@tessera/oauth';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newPerson } from '../testing/visitor.ts';
import { createWorld, password, type World } from '../testing/world.ts';
import { createTellOfSignIn } from './tell-of-sign-in.ts';

let world: World;
let count = 0;
let username: string;
let userId: string;

beforeAll(async () => {
  world = await createWorld();
  world.directory.addTenant('acme', { name: 'Acme', sendsMail: true });
});
afterAll(() => world.service.close());
beforeEach(() => {
  username = `eve${(count += 1)}`;
  userId = `acme-${username}`;
  world.directory.addUser(userId, { tenantId: 'acme', username, password });
});

const told = () => world.directory.announcedSignIns.filter((signIn) => signIn.userId === userId);

describe('a sign-in', () => {
  it('is told of if the browser is new, with its name and address, and whether any is known', async () => {
    const [first, second] = [newPerson(world), newPerson(world)];
    await first.signIn({}, { identifier: username });
    await second.signIn({}, { identifier: username });
    const userAgent = 'Agent/1.0';
    expect(told()).toEqual([
      { userId, ipAddress: first.ipAddress, userAgent, first: true },
      { userId, ipAddress: second.ipAddress, userAgent, first: false },
    ]);
  });

  it('is not told of in a browser in which the person has signed in before, session or not', async () => {
    const person = newPerson(world);
    await person.signIn({}, { identifier: username });
    person.sessionToken = '';
    await person.signIn({}, { identifier: username });
    expect(told()).toHaveLength(1);
  });

  it('is told of in a browser of before a lockdown, be the account as new as it may', async () => {
    const person = newPerson(world);
    await person.signIn({}, { identifier: username });
    await world.directory.changeUser(userId, { lockedDownAt: BigInt(Math.floor(Date.now() / 1000) + 1) });
    person.sessionToken = '';
    await person.signIn({}, { identifier: username });
    expect(told()).toMatchObject([{ first: true }, { first: false }]);
  });

  it('is told of in the browser of somebody else', async () => {
    const person = newPerson(world);
    await person.signIn({}, { identifier: 'bob' });
    person.sessionToken = '';
    await person.signIn({}, { identifier: username });
    expect(told()).toHaveLength(1);
  });

  it('is not told of if it fails', async () => {
    const person = newPerson(world);
    await person.submit(await person.interaction(), { identifier: username, password: 'wrong' });
    expect(told()).toEqual([]);
  });

  it('costs nothing where no mail is sent', async () => {
    const person = newPerson(world);
    world.directory.addUser('umbra-x', { tenantId: 'umbra', username, password });
    world.database.reset();
    const umbra = { client_id: 'umbra-web', redirect_uri: 'https://umbra.example/cb', scope: 'openid' };
    await person.signIn(umbra, { identifier: username });
    expect(world.database.names).not.toContain('authorize.find_known_browsers_of_person');
  });

  it('waits for a directory that is unavailable', async () => {
    const from = { browser: newPerson(world).context(), call: { onward: () => ({}) } };
    const attempt = (failure: Error) =>
      createTellOfSignIn({
        knownBrowsers: { signedInBefore: async () => ({ here: false, anywhere: true }) },
        personService: { announceSignIn: () => Promise.reject(failure) },
      })(from as never, { tenantId: 'acme', userId, lockedDownAt: 0n });
    await expect(attempt(temporarilyUnavailable())).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
  });
});
