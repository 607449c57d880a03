import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Step } from '@tessera/proto-gen/authorize';
import { newPerson, redemption, type Person } from '../testing/visitor.ts';
import { createWorld, issuer, password, request, type World } from '../testing/world.ts';

let world: World;
let count = 0;
let client: { client_id: string; redirect_uri: string };

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

/** Each test has a third-party application of its own. */
beforeEach(() => {
  const clientId = `partner-${(count += 1)}`;
  const application = world.directory.applications.get('acme-web');
  world.directory.addApplication(clientId, { ...application, clientId, name: 'Partner', thirdParty: true });
  client = { client_id: clientId, redirect_uri: 'https://app.example/cb' };
});

async function start(person: Person, difference: Record<string, string> = {}) {
  const parameters = request({ ...client, ...difference });
  const visit = { case: 'request', value: { parameters } } as const;
  return (await world.gateway.begin({ browser: person.context(), visit })).next?.next;
}

type Reached = Awaited<ReturnType<typeof start>>;

function stepOf(next: Reached): Step {
  if (next?.case !== 'step') throw new Error(`no step but ${next?.case}`);
  return next.value;
}

function answerOf(next: Reached): URLSearchParams {
  if (next?.case !== 'redirect') throw new Error(`no redirect but ${next?.case}`);
  return new URL(next.value.location).searchParams;
}

async function send(person: Person, { interaction }: Step, step: string, fields: Record<string, string>) {
  const visit = { case: 'interactionId', value: interaction?.interactionId ?? '' } as const;
  const { next, session } = await world.gateway.continue({ browser: person.context(), visit, step, fields });
  if (session !== undefined) person.sessionToken = session.sessionToken;
  return next?.next;
}

/** From the request to the page after the password. */
async function afterPassword(person: Person, difference?: Record<string, string>, identifier = 'ada') {
  return send(person, stepOf(await start(person, difference)), 'password', { identifier, password });
}

const answer = (person: Person, page: Reached, consent: string) =>
  send(person, stepOf(page), 'consent', { consent });

/** Signs somebody in who allows what the application asks for. */
async function allowed(difference?: Record<string, string>, identifier?: string) {
  const person = newPerson(world);
  const done = await answer(person, await afterPassword(person, difference, identifier), 'allow');
  return { person, code: answerOf(done).get('code') ?? '' };
}

/** Somebody who has not signed in yet, and whose sign-ins a lockdown ends. */
function somebody() {
  const username = `zoe${count}`;
  world.directory.addUser(`acme-${username}`, { tenantId: 'acme', username, password });
  const lockDown = async () => {
    const validFrom = BigInt(Math.floor(Date.now() / 1000) + 1);
    await world.directory.changeUser(`acme-${username}`, { validFrom });
  };
  return { username, lockDown };
}

const isAsked = async (person: Person, difference?: Record<string, string>) =>
  (await start(person, difference))?.case === 'step';

describe('a third-party application', () => {
  it('gets a code when the person has read what it asks for, with whose account, and allows it', async () => {
    const person = newPerson(world);
    const page = await afterPassword(person);
    expect(stepOf(page)).toMatchObject({
      name: 'consent',
      shown: {
        application: 'Partner',
        account: 'ada',
        'scope openid': '',
        'scope profile': '',
        'scope orders.read': '',
      },
    });
    expect(person.sessionToken).toBe('');
    const location = answerOf(await answer(person, page, 'allow'));
    const presented = { ...redemption(location.get('code') ?? ''), clientId: client.client_id };
    const { userGrant } = await world.token.redeemCode(presented);
    expect(userGrant).toMatchObject({ userId: 'acme-ada', scopes: ['openid', 'profile', 'orders.read'] });
  });

  it('is asked about, and gets, what it always gets whatever it asks for', async () => {
    await world.directory.changeApplication(client.client_id, { defaultScopes: ['email'] });
    const person = newPerson(world);
    const page = await afterPassword(person, { scope: 'openid' });
    expect(stepOf(page).shown).toMatchObject({ 'scope openid': '', 'scope email': '' });
    const location = answerOf(await answer(person, page, 'allow'));
    const presented = { ...redemption(location.get('code') ?? ''), clientId: client.client_id };
    const { userGrant } = await world.token.redeemCode(presented);
    expect(userGrant?.scopes).toEqual(['openid', 'email']);
    expect(await isAsked(person, { scope: 'openid' })).toBe(false);
  });

  it('is not asked about again, in any browser, for what was allowed or less', async () => {
    const { person } = await allowed();
    expect(await isAsked(person)).toBe(false);
    expect(await isAsked(person, { scope: 'openid' })).toBe(false);
    const elsewhere = newPerson(world);
    expect(answerOf(await afterPassword(elsewhere)).get('code')).toMatch(/^tc_/);
  });

  it('is asked about again for more, and then may have both', async () => {
    const { person } = await allowed({ scope: 'openid orders.read' });
    const more = await start(person, { scope: 'openid email' });
    expect(stepOf(more).name).toBe('consent');
    await answer(person, more, 'allow');
    expect(await isAsked(person, { scope: 'openid email' })).toBe(false);
    expect(await isAsked(person, { scope: 'openid orders.read' })).toBe(false);
  });

  it('needs consent to claims by name as to their scopes (OIDC Core §5.5)', async () => {
    const { person } = await allowed({ scope: 'openid' });
    const claims = JSON.stringify({ userinfo: { email: null } });
    const page = await start(person, { scope: 'openid', claims });
    expect(stepOf(page).shown).toHaveProperty('scope email');
    await answer(person, page, 'allow');
    expect(await isAsked(person, { scope: 'openid', claims })).toBe(false);
  });

  it('has each person asked, and each application asked about', async () => {
    const { person } = await allowed();
    const bob = newPerson(world);
    expect(stepOf(await afterPassword(bob, {}, 'bob')).name).toBe('consent');
    const application = world.directory.applications.get(client.client_id);
    world.directory.addApplication('partner-other', { ...application, clientId: 'partner-other' });
    expect(await isAsked(person, { client_id: 'partner-other' })).toBe(true);
  });

  it('gets access_denied with state and iss if the person denies it, who stays signed in (RFC 6749 §4.1.2.1)', async () => {
    const person = newPerson(world);
    const denied = answerOf(await answer(person, await afterPassword(person), 'deny'));
    expect(Object.fromEntries(denied)).toMatchObject({ error: 'access_denied', state: 'xyz', iss: issuer });
    expect(denied.has('code')).toBe(false);
    const { session } = await world.gateway.getSession({ browser: person.context() });
    expect(session?.userId).toBe('acme-ada');
    expect(stepOf(await start(person)).name).toBe('consent');
  });

  it('has the person asked again with prompt=consent, once in the request (OIDC Core §3.1.2.1)', async () => {
    const { person } = await allowed();
    const page = await start(person, { prompt: 'consent' });
    expect(stepOf(page).name).toBe('consent');
    expect(answerOf(await answer(person, page, 'allow')).get('code')).toMatch(/^tc_/);
    const denied = await answer(person, await start(person, { prompt: 'consent' }), 'deny');
    expect(answerOf(denied).get('error')).toBe('access_denied');
  });

  it('gets consent_required with prompt=none until the person has allowed it (OIDC Core §3.1.2.6)', async () => {
    const person = newPerson(world);
    const none = { prompt: 'none' };
    expect(answerOf(await start(person, none)).get('error')).toBe('login_required');
    await person.signIn();
    expect(answerOf(await start(person, none)).get('error')).toBe('consent_required');
    await answer(person, await start(person), 'allow');
    expect(answerOf(await start(person, none)).get('code')).toMatch(/^tc_/);
  });

  it('has people asked again after it was disabled and enabled, or made anew', async () => {
    const { person } = await allowed();
    const validFrom = BigInt(Math.floor(Date.now() / 1000) + 1);
    await world.directory.changeApplication(client.client_id, { validFrom });
    const later = newPerson(world);
    expect(stepOf(await afterPassword(later)).name).toBe('consent');
    expect(await isAsked(person)).toBe(true);
  });

  it('has people asked again after what ends their sign-ins, such as a lockdown', async () => {
    const { username, lockDown } = somebody();
    await allowed({}, username);
    await lockDown();
    expect(stepOf(await afterPassword(newPerson(world), {}, username)).name).toBe('consent');
    expect((await allowed({}, username)).code).toMatch(/^tc_/);
    expect(answerOf(await afterPassword(newPerson(world), {}, username)).get('code')).toMatch(/^tc_/);
  });

  it('keeps nothing that was allowed after a lockdown by a sign-in of before it', async () => {
    const { username, lockDown } = somebody();
    await allowed({}, username);
    await lockDown();
    // As by a process that had not heard of the change yet.
    await world.database.query({
      name: 'test.allow_late',
      text: `UPDATE authorize.consent SET granted_at = clock_timestamp() + interval '1 minute' WHERE client_id = $1`,
      values: [client.client_id],
    });
    expect(stepOf(await afterPassword(newPerson(world), {}, username)).name).toBe('consent');
  });

  it('gets nothing from a form that answers neither yes nor no, or that comes before the password', async () => {
    const person = newPerson(world);
    const first = await start(person);
    expect(stepOf(await answer(person, first, 'allow')).name).toBe('password');
    const page = await afterPassword(person);
    for (const nonsense of ['', 'yes', 'ALLOW'])
      expect(stepOf(await answer(person, page, nonsense))).toMatchObject({ problem: 'incomplete' });
  });

  it('gets no code from a form that denies after another tab has allowed, and is asked about again', async () => {
    const person = newPerson(world);
    const page = await afterPassword(person);
    const other = newPerson(world);
    await answer(other, await afterPassword(other), 'allow');
    const denied = answerOf(await answer(person, page, 'deny'));
    expect([denied.get('error'), denied.has('code')]).toEqual(['access_denied', false]);
    expect(await isAsked(person)).toBe(true);
  });

  it('is not allowed for good by forms at once, one of which denies it', async () => {
    const ends = new Set<string>();
    for (let round = 0; round < 30; round += 1) {
      const person = newPerson(world);
      const page = await afterPassword(person);
      const forms = round % 2 === 0 ? ['allow', 'deny'] : ['deny', 'allow', 'allow'];
      const answers = await Promise.allSettled(forms.map((form) => answer(person, page, form)));
      const good = answers.flatMap((each) => (each.status === 'fulfilled' ? [answerOf(each.value)] : []));
      expect(good).toHaveLength(1);
      const end = good[0]?.get('error') ?? 'code';
      ends.add(end);
      const later = newPerson(world);
      const next = await afterPassword(later);
      if (end === 'access_denied') expect(stepOf(next).name, `round ${round}`).toBe('consent');
      // So that the next round begins without one.
      await answer(later, await start(later, { prompt: 'consent' }), 'deny');
    }
    expect(ends).toContain('access_denied');
  });

  it('forgets what was allowed when the person denies it', async () => {
    const { person } = await allowed();
    await answer(person, await start(person, { prompt: 'consent' }), 'deny');
    expect(await isAsked(person)).toBe(true);
  });

  it('needs consent to an API without a scope of it (RFC 8707 §2)', async () => {
    const { person } = await allowed({ scope: 'openid' });
    const resource = { scope: 'openid', resource: 'https://orders.example' };
    const page = await start(person, resource);
    expect(stepOf(page).shown).toHaveProperty('scope resource https://orders.example');
    await answer(person, page, 'allow');
    expect(await isAsked(person, resource)).toBe(false);
    expect(await isAsked(person, { ...resource, resource: 'https://stock.example' })).toBe(true);
  });

  it('has nobody asked whom it excludes, or who is not the person it wants (RFC 6749 §4.1.2.1)', async () => {
    await world.directory.changeApplication(client.client_id, { allowedRoles: ['clerk'] });
    const excluded = newPerson(world);
    expect(answerOf(await afterPassword(excluded)).get('error')).toBe('access_denied');
    await world.directory.changeApplication(client.client_id, { allowedRoles: [] });
    const claims = JSON.stringify({ id_token: { sub: { value: 'acme-bob' } } });
    const other = newPerson(world);
    expect(answerOf(await afterPassword(other, { claims })).get('error')).toBe('login_required');
  });

  it('has the password asked again if the sign-in becomes older than max_age on the page (OIDC Core §3.1.2.1)', async () => {
    const person = newPerson(world);
    await person.signIn();
    const page = await start(person, { max_age: '300' });
    expect(stepOf(page).name).toBe('consent');
    await world.database.query({
      name: 'test.age_sign_in',
      text: `UPDATE authorize.session SET auth_time = auth_time - interval '301 seconds' WHERE ip_address = $1`,
      values: [person.ipAddress],
    });
    expect(stepOf(await answer(person, page, 'allow')).name).toBe('password');
  });

  it('gets one code from twenty forms at once that allow it', async () => {
    const person = newPerson(world);
    const page = await afterPassword(person);
    const answers = await Promise.allSettled(Array.from({ length: 20 }, () => answer(person, page, 'allow')));
    const good = answers.flatMap((each) => (each.status === 'fulfilled' ? [answerOf(each.value)] : []));
    expect(good.map((location) => location.has('code'))).toEqual([true]);
  });

  it('leaves audit rows that say who allowed or denied what, to which application', async () => {
    const person = newPerson(world);
    await answer(person, await afterPassword(person), 'deny');
    await answer(person, await start(person), 'allow');
    const about = {
      tenantId: 'acme',
      clientId: client.client_id,
      subject: 'acme-ada',
      details: { scopes: 'openid profile orders.read' },
    };
    const rows = async (event: string) =>
      (await world.audited(event)).filter(({ clientId }) => clientId === client.client_id);
    expect(await rows('consent.granted')).toMatchObject([{ ...about, outcome: 'success' }]);
    await expect.poll(() => rows('consent.denied')).toMatchObject([{ ...about, outcome: 'failure' }]);
  });
});

it('an application of the company itself never asks, not even with prompt=consent', async () => {
  const person = newPerson(world);
  expect(await person.signIn({ prompt: 'consent' })).toMatch(/^tc_/);
  expect((await person.redirect({ prompt: 'consent' })).has('code')).toBe(true);
});
