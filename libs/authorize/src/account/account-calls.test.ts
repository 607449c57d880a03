import { AccountProblem } from '@tessera/proto-gen/account';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { begin, newPerson, type Person } from '../testing/visitor.ts';
import { createWorld, password, request, type World } from '../testing/world.ts';

let world: World;
let count = 0;
let username: string;
let userId: string;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

/** Each test has a person of its own. */
beforeEach(() => {
  username = `eve${(count += 1)}`;
  userId = `acme-${username}`;
  world.directory.addUser(userId, {
    tenantId: 'acme',
    username,
    email: `${username}@people.example`,
    password,
    hasPasskey: true,
    passkeyName: 'Phone',
  });
});

async function signedIn(identifier = username): Promise<Person> {
  const person = newPerson(world);
  await person.signIn({}, { identifier });
  return person;
}

const accountOf = async (person: Person) =>
  (await world.account.getAccount({ browser: person.context() })).account;
const isSignedIn = async (person: Person) =>
  (await world.gateway.getSession({ browser: person.context() })).session !== undefined;

/** Signs somebody in who allows a third-party application everything. */
async function consented(identifier = username) {
  const clientId = `partner-of-${identifier}`;
  const application = world.directory.applications.get('acme-web');
  world.directory.addApplication(clientId, { ...application, clientId, thirdParty: true });
  const person = await signedIn(identifier);
  const asked = { parameters: request({ client_id: clientId }) };
  const isAsked = async () => (await begin(world, person.context(), asked)).next;
  const next = await isAsked();
  if (next.case !== 'interaction') throw new Error(`no step but ${next.case}`);
  await world.gateway.continue({
    browser: person.context(),
    visit: { case: 'interactionId', value: next.value.interactionId },
    step: 'consent',
    fields: { consent: 'allow' },
  });
  return { person, clientId, isAsked: async () => (await isAsked()).case === 'interaction' };
}

describe('an account', () => {
  it('is that of the session: name, passkeys, and where the person is signed in, here first', async () => {
    const there = await signedIn();
    const here = await signedIn();
    const account = await accountOf(here);
    expect(account).toMatchObject({
      session: { userId, username, tenantId: 'acme' },
      email: `${username}@people.example`,
      passkeys: [{ passkeyId: userId, name: 'Phone' }],
      hasTotp: false,
    });
    const { session } = await world.gateway.getSession({ browser: here.context() });
    expect(account?.sessions.map(({ sessionId }) => sessionId === session?.sessionId)).toEqual([true, false]);
    expect(account?.sessions[1]).toMatchObject({ userAgent: 'Agent/1.0', ipAddress: there.ipAddress });
  });

  it('keeps 256 characters of what a browser says it is', async () => {
    const person = newPerson(world);
    const browser = { ...person.context(), userAgent: 'x'.repeat(10_000) };
    const { next } = await begin(world, browser, { parameters: request() });
    if (next.case !== 'interaction') throw new Error('no sign-in page');
    const { session } = await world.gateway.continue({
      browser,
      visit: { case: 'interactionId', value: next.value.interactionId },
      step: 'password',
      fields: { identifier: username, password },
    });
    person.sessionToken = session?.sessionToken ?? '';
    expect((await accountOf(person))?.sessions[0]?.userAgent).toBe('x'.repeat(256));
  });

  it('is none without a session, and after the person was disabled', async () => {
    expect(await accountOf(newPerson(world))).toBeUndefined();
    const person = await signedIn();
    await world.directory.changeUser(userId, { validFrom: BigInt(Math.floor(Date.now() / 1000) + 60) });
    expect(await accountOf(person)).toBeUndefined();
    for (const answer of [
      await world.account.renamePasskey({ browser: person.context(), passkeyId: userId, name: 'x' }),
      await world.account.endOwnSessions({ browser: person.context() }),
      await world.account.revokeConsent({ browser: person.context(), clientId: 'x' }),
    ])
      expect(answer.problem).toBe(AccountProblem.SIGNED_OUT);
  });
});

describe('a person', () => {
  it('names a passkey of theirs, and no other', async () => {
    const person = await signedIn();
    const rename = async (passkeyId: string, name: string) =>
      (await world.account.renamePasskey({ browser: person.context(), passkeyId, name })).problem;
    expect(await rename(userId, ' Laptop ')).toBe(AccountProblem.UNSPECIFIED);
    expect((await accountOf(person))?.passkeys[0]?.name).toBe('Laptop');
    for (const name of ['', '  ', 'x'.repeat(65)])
      expect(await rename(userId, name)).toBe(AccountProblem.BAD_TEXT);
    expect(await rename('acme-bob', 'Mine')).toBe(AccountProblem.UNKNOWN);
  });

  it('signs out one other browser, with an audit row of theirs', async () => {
    const [here, there, third] = [await signedIn(), await signedIn(), await signedIn()];
    const { session } = await world.gateway.getSession({ browser: there.context() });
    const sessionId = session?.sessionId ?? '';
    const answer = await world.account.endOwnSessions({ browser: here.context(), sessionId });
    expect(answer.sessions).toMatchObject([{ tenantId: 'acme', sessionId }]);
    expect(await Promise.all([here, there, third].map(isSignedIn))).toEqual([true, false, true]);
    const rows = await world.audited('session.ended');
    expect(rows.filter((row) => row['sessionId'] === sessionId)).toMatchObject([
      {
        reason: 'elsewhere',
        subject: userId,
        actor: { type: 'user', id: userId },
        ipAddress: here.ipAddress,
      },
    ]);
  });

  it('signs out all other browsers, and nobody else’s', async () => {
    const [here, there, third, bob] = [
      await signedIn(),
      await signedIn(),
      await signedIn(),
      await signedIn('bob'),
    ];
    const { sessions } = await world.account.endOwnSessions({ browser: here.context() });
    expect(sessions).toHaveLength(2);
    expect(await Promise.all([here, there, third, bob].map(isSignedIn))).toEqual([true, false, false, true]);
  });

  it('is told of a session of somebody else what is said of one that never was', async () => {
    const [here, bob] = [await signedIn(), await signedIn('bob')];
    const { session } = await world.gateway.getSession({ browser: bob.context() });
    for (const sessionId of [session?.sessionId ?? '', 'unknown', 'a\0b'])
      expect(await world.account.endOwnSessions({ browser: here.context(), sessionId })).toMatchObject({
        problem: AccountProblem.UNKNOWN,
        sessions: [],
      });
    expect(await isSignedIn(bob)).toBe(true);
  });

  it('takes back what they allowed an application, which then asks again', async () => {
    const { person, clientId, isAsked } = await consented();
    expect((await accountOf(person))?.consents).toMatchObject([
      { clientId, scopes: ['openid', 'profile', 'orders.read'] },
    ]);
    expect(await isAsked()).toBe(false);
    const revoke = async () =>
      (await world.account.revokeConsent({ browser: person.context(), clientId })).problem;
    expect([await revoke(), await revoke()]).toEqual([AccountProblem.UNSPECIFIED, AccountProblem.UNKNOWN]);
    expect((await accountOf(person))?.consents).toEqual([]);
    expect(await isAsked()).toBe(true);
    expect((await world.audited('consent.revoked')).filter((row) => row['subject'] === userId)).toMatchObject(
      [{ clientId, actor: { type: 'user', id: userId } }],
    );
  });

  it('cannot take back what somebody else allowed', async () => {
    const { clientId, isAsked } = await consented();
    const bob = await signedIn('bob');
    for (const named of [clientId, 'a\0b'])
      expect(await world.account.revokeConsent({ browser: bob.context(), clientId: named })).toMatchObject({
        problem: AccountProblem.UNKNOWN,
      });
    expect(await isAsked()).toBe(false);
  });
});
