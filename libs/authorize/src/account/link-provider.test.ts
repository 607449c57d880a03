import { AccountProblem } from '@tessera/proto-gen/account';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startFakeProvider, type FakeProvider } from '../testing/fake-provider.ts';
import { newPerson, type Person } from '../testing/visitor.ts';
import { createWorld, issuer, password, request, type World } from '../testing/world.ts';
import { waitFor } from '@tessera/test-kit';

let world: World;
let corp: FakeProvider;
let other: FakeProvider;
let count = 0;
let username: string;
let userId: string;
let subject: string;

beforeAll(async () => {
  world = await createWorld({ config: { TESSERA_ALLOW_PRIVATE: ['providers'] } });
  [corp, other] = [await startFakeProvider(), await startFakeProvider()];
  const { providers } = world.directory;
  providers.add({ name: 'corp', issuer: corp.issuer, displayName: 'Corp' });
  providers.add({ name: 'other', issuer: other.issuer });
  providers.add({ name: 'umbra-only', tenantId: 'umbra', issuer: other.issuer });
});
afterAll(() => world.service.close());

/** Each test has a person of its own, who has an account of their own at the provider. */
beforeEach(() => {
  corp.faults = {};
  [username, subject] = [`eve${(count += 1)}`, `s-${count}`];
  userId = `acme-${username}`;
  world.directory.addUser(userId, { tenantId: 'acme', username, password });
});

async function signedIn(identifier = username): Promise<Person> {
  const person = newPerson(world);
  await person.signIn({}, { identifier });
  return person;
}

const resume = 'going=account&tenant=acme';
const link = async (person: Person, provider = 'corp') =>
  world.account.linkProvider({ browser: person.context(), provider, resume });

/** Begins a link; returns where the browser goes. */
async function leave(person: Person, provider = 'corp'): Promise<string> {
  const { problem, location } = await link(person, provider);
  expect(problem).toBe(AccountProblem.UNSPECIFIED);
  return location;
}

/** The browser brings something back to the address of a provider. */
const bring = async (person: Person, query: URLSearchParams | string, provider = 'corp', tenantId = 'acme') =>
  world.gateway.answerFromProvider({
    browser: person.context(),
    tenantId,
    provider,
    query: query.toString(),
  });

const linkedTo = (whose = userId) => world.directory.providers.linkedTo('acme', whose);
const isSignedIn = async (person: Person) =>
  (await world.gateway.getSession({ browser: person.context() })).session !== undefined;
const outcomeOf = async (person: Person, query: URLSearchParams) =>
  bring(person, query).then(
    ({ linkProblem }) => linkProblem,
    (error: { code?: string }) => error.code,
  );

/** Begins a sign-in with the provider in the browser of a person; returns where it goes. */
async function leaveToSignIn(person: Person): Promise<string> {
  const browser = person.context();
  const parameters = request({ prompt: 'login' });
  const { next } = await world.gateway.begin({ browser, visit: { case: 'request', value: { parameters } } });
  const value = next?.next.case === 'step' ? (next.next.value.interaction?.interactionId ?? '') : '';
  const visit = { case: 'interactionId', value } as const;
  const sent = await world.gateway.continue({
    browser,
    visit,
    step: 'provider',
    fields: { provider: 'corp' },
  });
  return sent.next?.next.case === 'redirect' ? sent.next.next.value.location : '';
}

describe('a signed-in person', () => {
  it('links a provider: it asks them anew, the answer goes back to the account page, and the session stays', async () => {
    const person = await signedIn();
    const location = new URL(await leave(person));
    expect(Object.fromEntries(location.searchParams)).toMatchObject({
      prompt: 'login',
      redirect_uri: `${issuer}/login/provider/acme/corp`,
      code_challenge_method: 'S256',
    });
    const answer = await bring(person, corp.signIn(location.href, { sub: subject }));
    expect([answer.linkProblem, answer.resume, answer.session]).toEqual(['', resume, undefined]);
    expect(linkedTo()).toEqual(['corp']);
    expect(await isSignedIn(person)).toBe(true);
    const { account } = await world.account.getAccount({ browser: person.context() });
    expect(account?.providers.map(({ name, linkTime }) => [name, linkTime !== undefined])).toEqual([
      ['corp', true],
      ['other', false],
    ]);
  });

  it('links none of another tenant, none that is unknown, and none that cannot be reached', async () => {
    const person = await signedIn();
    for (const name of ['gone', '', 'umbra-only'])
      expect((await link(person, name)).problem).toBe(AccountProblem.UNKNOWN);
    const browser = person.context();
    const long = await world.account.linkProvider({ browser, provider: 'corp', resume: 'x'.repeat(1025) });
    expect(long.problem).toBe(AccountProblem.UNKNOWN);
    const away = await startFakeProvider();
    away.faults = { isAway: true };
    world.directory.providers.add({ name: `away-${count}`, issuer: away.issuer });
    expect((await link(person, `away-${count}`)).problem).toBe(AccountProblem.PROVIDER_UNREACHABLE);
  });

  it('needs a recent sign-in to link and to unlink, with the second factor that they have', async () => {
    const person = await signedIn();
    world.directory.providers.bind('acme', 'corp', subject, userId);
    const unlink = async () => world.account.unlinkProvider({ browser: person.context(), provider: 'corp' });
    const tooOld = `UPDATE authorize.session SET auth_time = auth_time - interval '301 seconds' WHERE user_id = $1`;
    await world.directory.changeUser(userId, { totpCode: '123123' });
    for (const { problem } of [await link(person, 'other'), await unlink()])
      expect(problem, 'one factor').toBe(AccountProblem.SIGNED_OUT);
    await world.directory.changeUser(userId, (user) => {
      delete user.totpCode;
    });
    await world.database.query({ name: 'test.age_session', text: tooOld, values: [userId] });
    for (const { problem } of [await link(person, 'other'), await unlink()])
      expect(problem, 'old').toBe(AccountProblem.SIGN_IN_AGAIN);
    for (const { problem } of [
      await link(newPerson(world)),
      await world.account.unlinkProvider({ browser: newPerson(world).context(), provider: 'corp' }),
    ])
      expect(problem, 'nobody').toBe(AccountProblem.SIGNED_OUT);
    expect(linkedTo()).toEqual(['corp']);
  });

  it('is told when the identity is somebody else’s, but not whose, and it stays theirs', async () => {
    world.directory.providers.bind('acme', 'corp', subject, 'acme-bob');
    const person = await signedIn();
    const answer = await bring(person, corp.signIn(await leave(person), { sub: subject }));
    expect(answer).toMatchObject({ linkProblem: 'taken', resume });
    expect(JSON.stringify(answer.next)).not.toContain('bob');
    expect([linkedTo(), linkedTo('acme-bob')]).toEqual([[], ['corp']]);
    await waitFor(async () => {
      const rows = await world.audited('auth.provider.link_refused');
      expect(rows.at(-1)).toMatchObject({
        reason: 'provider_taken',
        subject: userId,
        actor: { type: 'user', id: userId },
        details: { provider: 'corp' },
      });
    });
    world.directory.providers.unlink('acme', 'acme-bob', 'corp');
  });

  it('unlinks a provider, which ends every session but a new one of this browser', async () => {
    world.directory.providers.bind('acme', 'corp', subject, userId);
    const [here, there] = [await signedIn(), await signedIn()];
    const { problem, session } = await world.account.unlinkProvider({
      browser: here.context(),
      provider: 'corp',
    });
    expect(problem).toBe(AccountProblem.UNSPECIFIED);
    here.sessionToken = session?.sessionToken ?? '';
    expect([await isSignedIn(here), await isSignedIn(there), linkedTo()]).toEqual([true, false, []]);
    const again = await world.account.unlinkProvider({ browser: here.context(), provider: 'corp' });
    expect(again.problem).toBe(AccountProblem.UNKNOWN);
  });

  it('is signed out here too if the session was made with a provider', async () => {
    world.directory.providers.bind('acme', 'corp', subject, userId);
    const person = newPerson(world);
    const answer = await bring(person, corp.signIn(await leaveToSignIn(person), { sub: subject }));
    person.sessionToken = answer.session?.sessionToken ?? '';
    expect(await isSignedIn(person)).toBe(true);
    const { problem, session } = await world.account.unlinkProvider({
      browser: person.context(),
      provider: 'corp',
    });
    expect([problem, session]).toEqual([AccountProblem.UNSPECIFIED, undefined]);
    expect(await isSignedIn(person)).toBe(false);
  });

  it('keeps the last way to sign in', async () => {
    world.directory.providers.bind('acme', 'corp', subject, userId);
    const person = await signedIn();
    await world.directory.changeUser(userId, { password: '' });
    const { problem } = await world.account.unlinkProvider({ browser: person.context(), provider: 'corp' });
    expect([problem, linkedTo()]).toEqual([AccountProblem.LAST_WAY_IN, ['corp']]);
  });
});

describe('the answer to a link', () => {
  it('is accepted once, of any number of tries at the same time (replay of a proof, CVE-2025-46815)', async () => {
    const person = await signedIn();
    const query = corp.signIn(await leave(person), { sub: subject });
    const tokens = corp.asked.filter((path) => path === '/token').length;
    const all = await Promise.all(Array.from({ length: 8 }, async () => outcomeOf(person, query)));
    expect(all.filter((one) => one === '')).toHaveLength(1);
    expect(corp.asked.filter((path) => path === '/token')).toHaveLength(tokens + 1);
    expect(await outcomeOf(person, query)).toBe('invalid_answer');
  });

  it('links nobody in another browser, such as that of a victim who is led to it (CSRF, CVE-2026-15571)', async () => {
    const [attacker, victim] = [await signedIn('bob'), await signedIn()];
    const query = corp.signIn(await leave(attacker), { sub: subject });
    expect(await outcomeOf(victim, query)).toBe('invalid_request');
    // Not even with the cookie of the browser, which is not that of the session.
    const mixed = { ...victim, context: () => ({ ...victim.context(), browserId: attacker.browserId }) };
    expect(await outcomeOf(mixed, query)).toBe('invalid_request');
    expect(linkedTo()).toEqual([]);
  });

  it('links nobody after the person signed out, or when somebody else signed in in the browser', async () => {
    const person = await signedIn();
    const first = corp.signIn(await leave(person), { sub: subject });
    await world.gateway.endSession({ browser: person.context() });
    expect(await outcomeOf(person, first)).toBe('invalid_request');
    person.sessionToken = '';
    await person.signIn({}, { identifier: 'bob' });
    expect(await outcomeOf(person, first)).toBe('invalid_request');
    expect([linkedTo(), linkedTo('acme-bob')]).toEqual([[], []]);
  });

  it('links nobody in a later session of the same person', async () => {
    const person = await signedIn();
    const query = corp.signIn(await leave(person), { sub: subject });
    await person.signIn({ prompt: 'login' }, { identifier: username });
    expect(await outcomeOf(person, query)).toBe('invalid_request');
    expect(linkedTo()).toEqual([]);
  });

  it('restores no link that was removed since it was asked for (CVE-2026-92358)', async () => {
    const person = await signedIn();
    const [used, residual] = [await leave(person), await leave(person)];
    expect(await outcomeOf(person, corp.signIn(used, { sub: subject }))).toBe('');
    const { session } = await world.account.unlinkProvider({ browser: person.context(), provider: 'corp' });
    person.sessionToken = session?.sessionToken ?? '';
    expect(await isSignedIn(person)).toBe(true);
    expect(await outcomeOf(person, corp.signIn(residual, { sub: subject }))).toBe('invalid_request');
    expect(linkedTo()).toEqual([]);
  });

  it('is no sign-in, and that of a sign-in links nobody', async () => {
    const person = await signedIn();
    world.directory.providers.bind('acme', 'corp', subject, 'acme-bob');
    // In a browser that is signed out, the answer to a link signs nobody in.
    const linking = corp.signIn(await leave(person), { sub: subject });
    const { sessionToken } = person;
    person.sessionToken = '';
    await expect(bring(person, linking)).rejects.toMatchObject({ code: 'invalid_request' });
    person.sessionToken = sessionToken;
    // The answer to a sign-in, with the ticket of a link put in its place.
    const signingIn = corp.signIn(await leaveToSignIn(person), { sub: `${subject}-mine` });
    const ofLink = new URL(await leave(person)).searchParams.get('state') ?? '';
    const swapped = new URLSearchParams(signingIn);
    swapped.set('state', ofLink);
    expect(await outcomeOf(person, swapped)).toBe('invalid_answer');
    const { linkProblem } = await bring(person, signingIn);
    expect(linkProblem).toBeUndefined();
    expect(linkedTo()).toEqual([]);
    world.directory.providers.unlink('acme', 'acme-bob', 'corp');
  });

  it('proves the identity of its own code alone (CVE-2026-9087), made for us (CVE-2026-55669), by this provider (mix-up)', async () => {
    const person = await signedIn();
    const [mine, theirs] = [await leave(person), await leave(await signedIn('bob'))];
    const swapped = corp.signIn(mine, { sub: subject });
    swapped.set('code', corp.signIn(theirs, { sub: 'of bob' }).get('code') ?? '');
    expect(await outcomeOf(person, swapped)).toBe('invalid_answer');
    corp.faults = { claims: { aud: 'another client' } };
    expect(await outcomeOf(person, corp.signIn(await leave(person), { sub: subject }))).toBe(
      'invalid_answer',
    );
    corp.faults = {};
    const crossed = corp.signIn(await leave(person), { sub: subject });
    expect((await bring(person, crossed, 'other')).linkProblem).toBe('invalid_answer');
    expect((await bring(person, crossed, 'corp', 'umbra')).linkProblem).toBe('invalid_answer');
    expect(linkedTo()).toEqual([]);
  });

  it('of a person who went back, or of a provider that fails, changes nothing and says so', async () => {
    const person = await signedIn();
    const denied = corp.signIn(await leave(person), { sub: subject });
    denied.delete('code');
    denied.set('error', 'access_denied');
    expect(await outcomeOf(person, denied)).toBe('denied_answer');
    const query = corp.signIn(await leave(person), { sub: subject });
    corp.faults = { tokenError: { status: 502, body: {} } };
    expect(await outcomeOf(person, query)).toBe('unreachable');
    expect(linkedTo()).toEqual([]);
  });
});
