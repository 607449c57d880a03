import { AccountProblem } from '@tessera/proto-gen/account';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { OwnPage_Name } from '@tessera/proto-gen/authorize';
import { Status } from '@tessera/proto-gen/directory';
import { enrolmentCode, passkeyAnswer } from '@tessera/directory-client/testing';
import { begin, newPerson, type Person } from '../testing/visitor.ts';
import { methodsWithout } from './remove-factor.ts';
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

  it('says what happened lately, the latest first, with the browser as long as it is signed in', async () => {
    const { person, clientId } = await consented();
    expect((await accountOf(person))?.activities).toMatchObject([
      { event: 'consent.granted', clientId, ipAddress: person.ipAddress },
      { event: 'auth.login.succeeded', ipAddress: person.ipAddress, userAgent: 'Agent/1.0' },
    ]);
    expect((await accountOf(await signedIn('bob')))?.activities.map(({ event }) => event)).not.toContain(
      'consent.granted',
    );
  });

  it('has the last five failed sign-ins, so that guesses push nothing else out', async () => {
    const { person } = await consented();
    for (let guess = 0; guess < 7; guess += 1) {
      const other = newPerson(world);
      await other.submit(await other.interaction(), { identifier: username, password: 'wrong' });
    }
    const events = async () => (await accountOf(person))?.activities.map(({ event }) => event) ?? [];
    await expect
      .poll(async () => (await events()).filter((event) => event === 'auth.login.failed').length)
      .toBe(5);
    expect(await events()).toContain('consent.granted');
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
    for (const sessionId of [session?.sessionId ?? '', 'unknown'])
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

  it('does not see consents that no longer count', async () => {
    const { person, clientId } = await consented();
    const validFrom = BigInt(Math.floor(Date.now() / 1000) + 1);
    await world.directory.changeApplication(clientId, { validFrom });
    expect((await accountOf(person))?.consents).toEqual([]);
  });

  it('cannot take back what somebody else allowed', async () => {
    const { clientId, isAsked } = await consented();
    const bob = await signedIn('bob');
    expect(await world.account.revokeConsent({ browser: bob.context(), clientId })).toMatchObject({
      problem: AccountProblem.UNKNOWN,
    });
    expect(await isAsked()).toBe(false);
  });
});

type Fields = Record<string, string>;

/** A visit to a page, form by form. */
async function visit(person: Person, name: OwnPage_Name) {
  const begun = await world.gateway.begin({
    browser: person.context(),
    visit: { case: 'page', value: { name, tenantId: 'acme' } },
  });
  let next = begun.next?.next;
  const step = () => (next?.case === 'step' ? next.value : undefined);
  return {
    at: () => step()?.name ?? next?.case,
    shown: () => step()?.shown ?? {},
    problem: () => step()?.problem,
    async send(stepName: string, fields: Fields) {
      const value = step()?.interaction?.interactionId ?? '';
      const answer = await world.gateway.continue({
        browser: person.context(),
        visit: { case: 'interactionId', value },
        step: stepName,
        fields,
      });
      if (answer.session !== undefined) person.sessionToken = answer.session.sessionToken;
      next = answer.next?.next;
    },
  };
}

/** The answer of a passkey to what a page asks. */
function answerOf({ passkey_options: options = '{}', passkey_nonce: nonce = '' }: Fields) {
  const { challenge = '' } = JSON.parse(options) as { challenge?: string };
  return { passkey: passkeyAnswer(userId, challenge), passkey_nonce: nonce };
}

/** Somebody who has signed in with a passkey. */
async function sure(): Promise<Person> {
  const person = newPerson(world);
  const entering = await visit(person, OwnPage_Name.ACCOUNT);
  await entering.send('passkey', answerOf(entering.shown()));
  expect(entering.at()).toBe('done');
  return person;
}

async function age(seconds: number): Promise<void> {
  await world.database.query({
    name: 'test.age_sessions_of_person',
    text: `UPDATE authorize.session SET auth_time = auth_time - make_interval(secs => $2) WHERE user_id = $1`,
    values: [userId, seconds],
  });
}

const remove = async (person: Person, passkeyId: string) =>
  world.account.removeFactor({ browser: person.context(), passkeyId });

describe('removing a factor', () => {
  it('needs a recent sign-in with a second factor, of who has one', async () => {
    const byPassword = await signedIn();
    expect(await remove(byPassword, userId)).toMatchObject({ problem: AccountProblem.SIGN_IN_AGAIN });
    const person = await sure();
    await age(301);
    expect(await remove(person, userId)).toMatchObject({ problem: AccountProblem.SIGN_IN_AGAIN });
    expect((await accountOf(person))?.passkeys).toHaveLength(1);

    const confirming = await visit(byPassword, OwnPage_Name.ACCOUNT_CHANGE);
    expect(confirming.at()).toBe('password');
    await confirming.send('password', { identifier: username, password });
    expect(confirming.at()).toBe('passkey');
    await confirming.send('passkey', answerOf(confirming.shown()));
    expect(confirming.at()).toBe('done');
    expect((await remove(byPassword, userId)).problem).toBe(AccountProblem.UNSPECIFIED);
  });

  it('ends all sessions; this browser keeps what it proved without the factor', async () => {
    const [person, there] = [await signedIn(), await signedIn()];
    const confirming = await visit(person, OwnPage_Name.ACCOUNT_CHANGE);
    await confirming.send('password', { identifier: username, password });
    await confirming.send('passkey', answerOf(confirming.shown()));
    const { session } = await remove(person, userId);
    expect([await isSignedIn(person), await isSignedIn(there)]).toEqual([false, false]);
    person.sessionToken = session?.sessionToken ?? '';
    const present = await world.gateway.getSession({ browser: person.context() });
    expect(present.session?.authentication?.methods).toEqual(['pwd']);
  });

  it('leaves no session to who has proved nothing else', async () => {
    const person = await sure();
    const { session, problem } = await remove(person, userId);
    expect([session, problem]).toEqual([undefined, AccountProblem.UNSPECIFIED]);
    expect(await isSignedIn(person)).toBe(false);
  });

  it('knows no factor of somebody else', async () => {
    const person = await sure();
    for (const named of ['acme-bob', 'unknown', ''])
      expect(await remove(person, named)).toMatchObject({ problem: AccountProblem.UNKNOWN });
    expect(await isSignedIn(person)).toBe(true);
  });

  it('by who has an app asks for its code once more, and the new session needs none', async () => {
    await world.directory.changeUser(userId, { hasPasskey: false, totpCode: '654321' });
    const person = newPerson(world);
    const entering = await visit(person, OwnPage_Name.ACCOUNT);
    await entering.send('password', { identifier: username, password });
    await entering.send('totp', { totp_code: '654321' });
    await age(301);
    expect(await remove(person, '')).toMatchObject({ problem: AccountProblem.SIGN_IN_AGAIN });
    const confirming = await visit(person, OwnPage_Name.ACCOUNT_CHANGE);
    await confirming.send('password', { identifier: username, password });
    expect(confirming.at()).toBe('totp');
    await confirming.send('totp', { totp_code: '654321' });
    const { session } = await remove(person, '');
    person.sessionToken = session?.sessionToken ?? '';
    expect(await isSignedIn(person)).toBe(true);
    expect((await accountOf(person))?.hasTotp).toBe(false);
  });

  it.each([
    [['pwd', 'otp', 'mfa'], 'totp', ['pwd']],
    [['pwd', 'swk', 'user', 'mfa'], 'passkey', ['pwd']],
    [['hwk', 'user', 'mfa'], 'passkey', []],
    [['hwk', 'user', 'mfa'], 'totp', ['hwk', 'user', 'mfa']],
    [['pwd', 'otp', 'mfa', 'swk', 'user'], 'passkey', ['pwd', 'otp', 'mfa']],
    [['pwd'], 'totp', ['pwd']],
  ] as const)('turns a sign-in by %j, without the %s, into %j', (methods, factor, left) => {
    expect(methodsWithout(methods, factor)).toEqual(left);
  });
});

describe('changing who one is', () => {
  it('takes a name at once, and the page shows it', async () => {
    const person = await signedIn();
    const change = async (name: string) =>
      (await world.account.changeName({ browser: person.context(), name })).problem;
    expect(await change('Eve Adams')).toBe(AccountProblem.UNSPECIFIED);
    expect((await accountOf(person))?.session?.name).toBe('Eve Adams');
    expect(await change('')).toBe(AccountProblem.BAD_TEXT);
  });

  it('proposes an address only after a recent sign-in, with a second factor of who has one', async () => {
    const email = `${username}@new.example`;
    const propose = async (person: Person, typed = email) =>
      (await world.account.changeEmail({ browser: person.context(), email: typed, language: 'en' })).problem;
    expect(await propose(await signedIn())).toBe(AccountProblem.SIGN_IN_AGAIN);
    const person = await sure();
    await age(301);
    expect(await propose(person)).toBe(AccountProblem.SIGN_IN_AGAIN);
    expect(world.directory.proposedAddresses).not.toContain(email);
    const again = await sure();
    expect(await propose(again)).toBe(AccountProblem.UNSPECIFIED);
    expect(world.directory.proposedAddresses).toContain(email);
    expect(await propose(again, 'none')).toBe(AccountProblem.BAD_TEXT);
  });

  it('is for people who are signed in', async () => {
    const browser = newPerson(world).context();
    expect((await world.account.changeName({ browser, name: 'Eve' })).problem).toBe(
      AccountProblem.SIGNED_OUT,
    );
    expect((await world.account.changeEmail({ browser, email: 'e@x.example' })).problem).toBe(
      AccountProblem.SIGNED_OUT,
    );
  });
});

describe('closing the account', () => {
  const close = async (person: Person) =>
    (await world.account.closeAccount({ browser: person.context() })).problem;

  it('needs a tenant that lets people, and a recent sign-in', async () => {
    const person = await sure();
    expect((await accountOf(person))?.closable).toBe(false);
    expect(await close(person)).toBe(AccountProblem.READ_ONLY);
    world.directory.tenants.set('acme', { ...tenantOf('acme'), accountClosing: true });
    await world.directory.changeTenant('acme', Status.ACTIVE);
    onTestFinished(async () => {
      world.directory.tenants.set('acme', { ...tenantOf('acme'), accountClosing: false });
      await world.directory.changeTenant('acme', Status.ACTIVE);
    });
    await age(301);
    expect((await accountOf(person))?.closable).toBe(true);
    expect(await close(person)).toBe(AccountProblem.SIGN_IN_AGAIN);
    const again = await sure();
    expect(await close(again)).toBe(AccountProblem.UNSPECIFIED);
    expect(await Promise.all([person, again].map(isSignedIn))).toEqual([false, false]);
    expect(await close(again)).toBe(AccountProblem.SIGNED_OUT);
  });
});

const tenantOf = (tenantId: string) => {
  const tenant = world.directory.tenants.get(tenantId);
  if (tenant === undefined) throw new Error(`there is no tenant ${tenantId}`);
  return tenant;
};

describe('setting something up', () => {
  it('follows a recent sign-in at once, and an old one after signing in again', async () => {
    const person = await sure();
    expect((await visit(person, OwnPage_Name.ADD_TOTP)).at()).toBe('totp_enrolment');
    expect((await visit(person, OwnPage_Name.ADD_PASSKEY)).at()).toBe('passkey_enrolment');
    expect((await visit(person, OwnPage_Name.NEW_RECOVERY_CODES)).at()).toBe('recovery_codes');
    const byPassword = await signedIn();
    expect((await visit(byPassword, OwnPage_Name.ADD_PASSKEY)).at()).toBe('password');
    await age(301);
    for (const name of [OwnPage_Name.ADD_TOTP, OwnPage_Name.ADD_PASSKEY, OwnPage_Name.NEW_RECOVERY_CODES])
      expect((await visit(person, name)).at()).toBe('password');
  });

  it('adds an app and shows recovery codes, and then is done', async () => {
    const person = await sure();
    const adding = await visit(person, OwnPage_Name.ADD_TOTP);
    expect(adding.shown()).toHaveProperty('totp_asked');
    await adding.send('totp_enrolment', { enrolment_code: '000000' });
    expect(adding.problem()).toBe('wrong_code');
    await adding.send('totp_enrolment', { enrolment_code: enrolmentCode });
    expect(adding.at()).toBe('recovery_codes');
    expect(adding.shown()).toMatchObject({ codes: expect.any(String), enrols: 'totp' });
    expect((await accountOf(person))?.hasTotp).toBe(false);
    expect((await visit(person, OwnPage_Name.ADD_TOTP)).at()).toBe('totp_enrolment');
    await adding.send('recovery_codes', { recovery_codes: 'kept' });
    expect(adding.at()).toBe('done');
    expect((await accountOf(person))?.hasTotp).toBe(true);
    expect((await visit(person, OwnPage_Name.ADD_TOTP)).at()).toBe('done');
  });

  it('is only begun until the codes are saved: other windows stay signed in, and who leaves has no app', async () => {
    const person = await sure();
    const elsewhere = await signedIn();
    const adding = await visit(person, OwnPage_Name.ADD_TOTP);
    await adding.send('totp_enrolment', { enrolment_code: enrolmentCode });
    expect(adding.at()).toBe('recovery_codes');
    expect(await isSignedIn(person)).toBe(true);
    expect(await isSignedIn(elsewhere)).toBe(true);
    expect(world.directory.users.get(`acme ${userId}`)).not.toHaveProperty('totpCode');
  });

  it('leaves the earlier recovery codes valid until the new ones are saved, which are those that were shown', async () => {
    const person = await sure();
    await world.directory.changeUser(userId, { recoveryCode: 'k3x7q-9mfah' });
    const kept = () => world.directory.users.get(`acme ${userId}`)?.recoveryCode;
    const asking = await visit(person, OwnPage_Name.NEW_RECOVERY_CODES);
    const other = await visit(person, OwnPage_Name.NEW_RECOVERY_CODES);
    const [code = ''] = asking.shown()['codes']?.split(' ') ?? [];
    expect(code).not.toBe('');
    expect(kept()).toBe('k3x7q-9mfah');
    await asking.send('recovery_codes', { recovery_codes: 'kept' });
    expect(asking.at()).toBe('done');
    expect(kept()).toBe(code);
    await other.send('recovery_codes', { recovery_codes: 'kept' });
    expect(other.at()).toBe('done');
    expect(kept()).not.toBe(code);
  });

  it('can be left to later, and adds nothing', async () => {
    const person = await sure();
    const adding = await visit(person, OwnPage_Name.ADD_PASSKEY);
    expect(adding.shown()).toHaveProperty('passkey_asked');
    await adding.send('passkey_enrolment', { passkey_later: 'yes' });
    expect(adding.at()).toBe('done');
    expect(await isSignedIn(person)).toBe(true);
  });

  it('is of the person of the session, and of their tenant alone', async () => {
    const person = await sure();
    const begun = await world.gateway.begin({
      browser: person.context(),
      visit: { case: 'page', value: { name: OwnPage_Name.ADD_TOTP, tenantId: 'umbra' } },
    });
    expect(begun.next?.next).toMatchObject({ case: 'step', value: { name: 'password' } });
  });
});

describe('a recovery code', () => {
  it('stands for a lost passkey, and is guessed no more often than a code', async () => {
    const person = await signedIn();
    const confirming = await visit(person, OwnPage_Name.ACCOUNT_CHANGE);
    await confirming.send('password', { identifier: username, password });
    expect(confirming.shown()).toHaveProperty('recovery');
    await confirming.send('recovery_code', { recovery_code: '' });
    expect([confirming.at(), confirming.problem()]).toEqual(['passkey', 'incomplete']);
    await confirming.send('recovery_code', { recovery_code: 'wrong' });
    expect([confirming.at(), confirming.problem()]).toEqual(['passkey', 'wrong_code']);
    await world.directory.changeUser(userId, { recoveryCode: 'k3x7q-9mfah' });
    await confirming.send('recovery_code', { recovery_code: 'k3x7q-9mfah' });
    expect(confirming.at()).toBe('done');
    expect((await remove(person, userId)).problem).toBe(AccountProblem.UNSPECIFIED);
  });

  it('does not help where phishing must be resisted', async () => {
    const tenant = { ...world.directory.tenants.get('acme') };
    world.directory.addTenant('acme', { ...tenant, authenticationPolicy: 'phishing-resistant' });
    await world.directory.changeTenant('acme', Status.ACTIVE);
    try {
      await world.directory.changeUser(userId, { recoveryCode: 'k3x7q-9mfah' });
      const entering = await visit(newPerson(world), OwnPage_Name.ACCOUNT);
      await entering.send('password', { identifier: username, password });
      expect(entering.at()).toBe('passkey');
      expect(entering.shown()).not.toHaveProperty('recovery');
      await entering.send('recovery_code', { recovery_code: 'k3x7q-9mfah' });
      expect([entering.at(), entering.problem()]).toEqual(['passkey', 'wrong_code']);
    } finally {
      world.directory.addTenant('acme', tenant);
      await world.directory.changeTenant('acme', Status.ACTIVE);
    }
  });
});
