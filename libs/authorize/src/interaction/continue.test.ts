import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Status } from '@tessera/proto-gen/directory';
import { createWorld, issuer, newBrowserId, password } from '../testing/world.ts';
import type { World } from '../testing/world.ts';
import { codeOf, redemption, newPerson, signInAtPage } from '../testing/visitor.ts';
import type { Person } from '../testing/visitor.ts';
import { waitFor } from '@tessera/test-kit';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

const umbra = { client_id: 'umbra-web', redirect_uri: 'https://umbra.example/cb' };
const invalidContext = {
  code: 'invalid_request',
  message: 'The authorization context is invalid or has expired.',
};

async function sessionOf(person: Person) {
  const { session } = await world.gateway.getSession({ browser: person.context() });
  return session;
}

describe('a visit', () => {
  it('is useless in another browser: it can be neither read nor used (CVE-2026-7507, CVE-2022-39222)', async () => {
    const [owner, thief] = [newPerson(world), newPerson(world)];
    const interactionId = await owner.interaction();
    for (const browserId of [thief.browserId, '', newBrowserId()]) {
      thief.browserId = browserId;
      const shown = world.gateway.getInteraction({ browser: thief.context(), interactionId });
      await expect(shown).rejects.toMatchObject(invalidContext);
      await expect(thief.submit(interactionId)).rejects.toMatchObject(invalidContext);
    }
    expect((await owner.submit(interactionId)).outcome.case).toBe('signedIn');
  });

  it('is useless at another issuer, also for its own browser (RFC 9700 section 4.4)', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction();
    for (const elsewhere of [
      { issuer: 'https://login.umbra.example', tenantId: 'umbra' },
      { issuer: 'https://other.example', tenantId: '' },
    ]) {
      const browser = { ...person.context(), ...elsewhere };
      const shown = world.gateway.getInteraction({ browser, interactionId });
      await expect(shown).rejects.toMatchObject(invalidContext);
    }
    expect((await person.submit(interactionId)).outcome.case).toBe('signedIn');
  });

  it('is shown to its own browser as requested', async () => {
    const person = newPerson(world);
    const { next } = await person.start({ login_hint: 'ada' });
    const interactionId = next.case === 'interaction' ? next.value.interactionId : '';
    const shown = await world.gateway.getInteraction({ browser: person.context(), interactionId });
    expect(shown.step?.interaction).toEqual(next.value);
  });

  it.each(['', 'ti_', `ti_${'a'.repeat(43)}`, `tc_${'a'.repeat(43)}`, `ti_${'a'.repeat(44)}`])(
    'is refused when its identifier is %j (contract, GET /authorize: invalid context)',
    async (interactionId) => {
      const person = newPerson(world);
      await expect(person.submit(interactionId)).rejects.toMatchObject(invalidContext);
    },
  );

  it('is used once: of ten concurrent right sign-ins one gets a code, and only its session lives', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction();
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => person.submit(interactionId)));
    const good = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const bad = results.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    expect(good.map(({ outcome }) => outcome.case)).toEqual(['signedIn']);
    for (const error of bad) expect(error).toMatchObject(invalidContext);
    const { rows } = await world.database.query<{ living: boolean }>({
      name: 'test.sessions_of_address',
      text: 'SELECT ended_at IS NULL AS living FROM authorize.session WHERE ip_address = $1',
      values: [person.ipAddress],
    });
    expect(rows.filter(({ living }) => living)).toHaveLength(1);
    const [signedIn] = good;
    if (signedIn?.outcome.case !== 'signedIn') throw new Error('nobody is signed in');
    await world.token.redeemCode(redemption(codeOf(signedIn.outcome.value.redirect?.location)));
    await expect(person.submit(interactionId)).rejects.toMatchObject(invalidContext);
  });

  it('survives wrong passwords', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction();
    const { outcome } = await person.submit(interactionId, { password: 'wrong' });
    expect(outcome.case).toBe('wrongCredentials');
    expect(outcome.value).toMatchObject({ interaction: { interactionId, clientId: 'acme-web' } });
    expect((await person.submit(interactionId)).outcome.case).toBe('signedIn');
  });

  it('is never the same for two requests', async () => {
    const person = newPerson(world);
    expect(await person.interaction()).not.toBe(await person.interaction());
  });
});

describe('a successful sign-in', () => {
  it('opens a session and returns code, state and iss (contract, RFC 6749 §4.1.2, RFC 9207 §2)', async () => {
    const person = newPerson(world);
    const { outcome } = await person.submit(await person.interaction({ state: 'st"a te' }));
    if (outcome.case !== 'signedIn') throw new Error('not signed in');
    const { session, redirect } = outcome.value;
    expect(session?.sessionToken).toMatch(/^ts_[\w-]{43}$/);
    expect(session?.maxAge).toBe(43_200);
    const location = redirect?.location ?? '';
    expect(location.startsWith('https://app.example/cb?code=tc_')).toBe(true);
    expect(new URL(location).searchParams.get('state')).toBe('st"a te');
    expect(new URL(location).searchParams.get('iss')).toBe(issuer);
  });

  it('passes scopes, resource, nonce, session and sign-in time to the grant (OIDC Core §3.1.2.1)', async () => {
    const person = newPerson(world);
    const code = await person.signIn({ nonce: 'n-1', scope: 'openid orders.read' });
    const { userGrant: grant } = await world.token.redeemCode(redemption(code));
    const session = await sessionOf(person);
    expect(grant).toMatchObject({
      tenantId: 'acme',
      clientId: 'acme-web',
      userId: 'acme-ada',
      scopes: ['openid', 'orders.read'],
      resource: 'https://orders.example',
      nonce: 'n-1',
      sessionId: session?.sessionId,
      authentication: { time: session?.authentication?.time },
      issuer,
    });
  });

  it('always opens a new session and ends the previous one (session fixation, ASVS 7.2.4)', async () => {
    const person = newPerson(world);
    await person.signIn();
    const before = { ...person, session: await sessionOf(person) };
    await person.signIn({ prompt: 'login' });
    const after = await sessionOf(person);
    expect(person.sessionToken).not.toBe(before.sessionToken);
    expect(after?.sessionId).not.toBe(before.session?.sessionId);
    const old = { ...person.context(), sessionToken: before.sessionToken };
    expect((await world.gateway.getSession({ browser: old })).session).toBeUndefined();
  });

  it('gives another person an entirely new session (CVE-2023-6787)', async () => {
    const person = newPerson(world);
    await person.signIn();
    const ada = await sessionOf(person);
    await person.signIn({ prompt: 'login' }, { identifier: 'bob' });
    const bob = await sessionOf(person);
    expect([ada?.userId, bob?.userId]).toEqual(['acme-ada', 'acme-bob']);
    expect(bob?.sessionId).not.toBe(ada?.sessionId);
  });

  it('keeps the codes of the same person valid, as for another tab, until they sign out', async () => {
    const person = newPerson(world);
    const other = await person.signIn();
    const code = await person.signIn({ prompt: 'login' });
    await expect(world.token.redeemCode(redemption(other))).resolves.toMatchObject({
      userGrant: { userId: 'acme-ada' },
    });
    await world.gateway.endSession({ browser: person.context() });
    await expect(world.token.redeemCode(redemption(code))).rejects.toMatchObject({ code: 'invalid_grant' });
    const replayed = { takenBefore: true, burnt: true };
    await expect(world.token.redeemCode(redemption(other))).resolves.toMatchObject(replayed);
  });

  it('costs the database no more in a browser that is signed in than in a new one', async () => {
    const person = newPerson(world);
    for (let time = 0; time < 3; time += 1) {
      const interactionId = await person.interaction({ prompt: 'login' });
      world.database.reset();
      const { outcome } = await person.submit(interactionId);
      const names = world.database.names.filter((name) => name.startsWith('authorize.'));
      expect(names).toEqual([...(time === 0 ? [] : ['authorize.find_session']), 'authorize.open_session']);
      person.sessionToken = outcome.case === 'signedIn' ? (outcome.value.session?.sessionToken ?? '') : '';
    }
  });

  it('drops the codes of another person, who is thereby signed out (I3)', async () => {
    const person = newPerson(world);
    const earlier = await person.signIn();
    const before = await sessionOf(person);
    const ada = [earlier, await person.signIn({ prompt: 'login' })];
    const { sessionId } = (await sessionOf(person)) ?? {};
    const interactionId = await person.interaction({ prompt: 'login' });
    const { outcome } = await person.submit(interactionId, { identifier: 'bob' });
    if (outcome.case !== 'signedIn') throw new Error('not signed in');
    const earlierSessionIds = [before?.sessionId];
    expect(outcome.value.session?.ended).toMatchObject({ tenantId: 'acme', sessionId, earlierSessionIds });
    const bob = codeOf(outcome.value.redirect?.location);
    person.sessionToken = outcome.value.session?.sessionToken ?? '';
    for (const code of ada) {
      await expect(world.token.redeemCode(redemption(code))).rejects.toMatchObject({ code: 'invalid_grant' });
    }
    await expect(world.token.redeemCode(redemption(bob))).resolves.toMatchObject({
      userGrant: { userId: 'acme-bob' },
    });
    const attempt = { tenantId: 'acme', identifier: 'ada', password };
    const { session } = await signInAtPage(world, { browser: person.context(), ...attempt });
    expect(session?.ended?.tenantId).toBe('acme');
    person.sessionToken = session?.sessionToken ?? '';
    const again = await signInAtPage(world, { browser: person.context(), ...attempt });
    expect(again.session, 'the same person').not.toHaveProperty('ended.sessionId');
    const replayed = { takenBefore: true, burnt: true };
    await expect(world.token.redeemCode(redemption(bob))).resolves.toMatchObject(replayed);
  });

  it('ends earlier codes even if the response of a sign-in was lost and it is repeated (SES-7, I3)', async () => {
    const [same, other] = [newPerson(world), newPerson(world)];
    for (const person of [same, other]) await person.signIn();
    const before = [await sessionOf(same), await sessionOf(other)];
    for (const person of [same, other]) await person.submit(await person.interaction({ prompt: 'login' }));
    await same.signIn();
    const over = await world.gateway.endSession({ browser: same.context() });
    expect(over.earlierSessionIds).toEqual([before[0]?.sessionId]);
    const { outcome } = await other.submit(await other.interaction(), { identifier: 'bob' });
    const { sessionId } = before[1] ?? {};
    expect(outcome).toMatchObject({ value: { session: { ended: { tenantId: 'acme', sessionId } } } });
  });

  it('leaves the session as it was when signing in again fails (CVE-2023-6787)', async () => {
    const person = newPerson(world);
    await person.signIn();
    const before = await sessionOf(person);
    const interactionId = await person.interaction({ prompt: 'login' });
    await person.submit(interactionId, { identifier: 'bob', password: 'wrong' });
    expect(await sessionOf(person)).toEqual(before);
  });

  it('writes session.created and auth.login.succeeded, and session.ended for the one it replaces', async () => {
    const person = newPerson(world);
    await person.signIn();
    const first = await sessionOf(person);
    await person.signIn({ prompt: 'login' });
    const mine = async (event: string) =>
      (await world.audited(event)).filter((row) => row['ipAddress'] === person.ipAddress);
    expect(await mine('session.created')).toHaveLength(2);
    expect((await mine('auth.login.succeeded')).at(-1)).toMatchObject({
      outcome: 'success',
      tenantId: 'acme',
      clientId: 'acme-web',
      actor: { type: 'user', id: 'acme-ada' },
      userAgentHash: 'agent',
    });
    expect(await mine('session.ended')).toMatchObject([{ sessionId: first?.sessionId, reason: 'replaced' }]);
  });
});

describe('signing in to an application for some roles', () => {
  const spa = { client_id: 'acme-spa', redirect_uri: 'https://spa.example/cb' };

  beforeAll(() => world.directory.changeApplication('acme-spa', { allowedRoles: ['clerk'] }));
  afterAll(() => world.directory.changeApplication('acme-spa', { allowedRoles: [] }));

  it('signs in a person without one and returns access_denied to the client, with state and iss, once (DEV-2, RFC 6749 §4.1.2.1, RFC 9207 §2)', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction(spa);
    const { outcome } = await person.submit(interactionId);
    if (outcome.case !== 'signedIn') throw new Error('not signed in');
    const location = new URL(outcome.value.redirect?.location ?? '');
    expect(location.href.startsWith(`${spa.redirect_uri}?`)).toBe(true);
    const parameters = Object.fromEntries(location.searchParams);
    expect(parameters).toMatchObject({ error: 'access_denied', state: 'xyz', iss: issuer });
    expect(parameters).not.toHaveProperty('code');
    person.sessionToken = outcome.value.session?.sessionToken ?? '';
    expect((await sessionOf(person))?.userId).toBe('acme-ada');
    expect((await person.redirect({ prompt: 'none' })).has('code')).toBe(true);
    await expect(person.submit(interactionId)).rejects.toMatchObject(invalidContext);
    const row = { clientId: 'acme-spa', subject: 'acme-ada', details: { phase: 'access' } };
    await waitFor(async () => {
      const rows = await world.audited('authorize.rejected');
      expect(rows.filter(({ reason }) => reason === 'role_missing')).toMatchObject([row]);
    });
  });

  it('reveals no roles without the password', async () => {
    const person = newPerson(world);
    const { outcome } = await person.submit(await person.interaction(spa), { password: 'wrong' });
    expect(outcome.case).toBe('wrongCredentials');
  });

  it('issues a code if the person holds a role by then (DEV-2)', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction(spa);
    await world.directory.changeUser('acme-bob', { roles: ['clerk'] });
    const { outcome } = await person.submit(interactionId, { identifier: 'bob' });
    await world.directory.changeUser('acme-bob', { roles: [] });
    expect(codeOf(outcome.case === 'signedIn' ? outcome.value.redirect?.location : '')).toMatch(/^tc_/);
  });
});

describe('a change since the request started', () => {
  const spa = {
    client_id: 'acme-spa',
    redirect_uri: 'https://spa.example/cb',
    scope: 'openid orders.read',
  };

  /** Begins, changes the application, and lets the test look before it is as it was. */
  async function whileChanged(
    change: Parameters<World['directory']['changeApplication']>[1],
    look: (person: Person, interactionId: string) => Promise<void>,
  ): Promise<void> {
    const original = world.directory.applications.get(spa.client_id);
    const restore = structuredClone(original ?? {});
    const person = newPerson(world);
    const interactionId = await person.interaction(spa);
    await world.directory.changeApplication(spa.client_id, change);
    const checks = world.directory.calls.verifyPassword;
    await look(person, interactionId);
    expect(world.directory.calls.verifyPassword).toBe(checks);
    await world.directory.changeApplication(spa.client_id, restore);
    expect((await person.submit(interactionId)).outcome.case).toBe('signedIn');
  }

  it.each([{ status: Status.DISABLED }, { redirectUris: ['https://spa.example/new'] }])(
    'is checked again: without a good client and redirect URI it is an error (%j)',
    async (change) => {
      await whileChanged(change, async (person, interactionId) => {
        const browser = person.context();
        const shown = world.gateway.getInteraction({ browser, interactionId });
        await expect(shown).rejects.toMatchObject({ code: 'invalid_request' });
        await expect(person.submit(interactionId)).rejects.toMatchObject({ code: 'invalid_request' });
      });
    },
  );

  it.each([
    ['unauthorized_client', { grantTypes: ['refresh_token'] }],
    ['invalid_scope', { scopes: [{ name: 'openid', audience: '' }] }],
  ])(
    'is checked again: %s goes back to the client, with state and iss (RFC 6749 §4.1.2.1, RFC 9207 §2)',
    async (error, change) => {
      await whileChanged(change, async (person, interactionId) => {
        const browser = person.context();
        const { step, redirect } = await world.gateway.getInteraction({ browser, interactionId });
        expect(step).toBeUndefined();
        const { outcome } = await person.submit(interactionId);
        expect(outcome).toMatchObject({ case: 'redirect', value: { location: redirect?.location } });
        const location = new URL(redirect?.location ?? '');
        expect(location.href.startsWith(`${spa.redirect_uri}?`)).toBe(true);
        expect(Object.fromEntries(location.searchParams)).toMatchObject({ error, state: 'xyz', iss: issuer });
      });
    },
  );

  it('is checked again: the tenant', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction(umbra);
    await world.directory.changeTenant('umbra', Status.DISABLED);
    await expect(person.submit(interactionId)).rejects.toMatchObject({ code: 'invalid_request' });
    await world.directory.changeTenant('umbra', Status.ACTIVE);
  });

  it('is rejected if the browser has signed in to another tenant meanwhile, before the password is checked', async () => {
    const person = newPerson(world);
    const interactionId = await person.interaction(umbra);
    await person.signIn();
    const checks = world.directory.calls.verifyPassword;
    const { outcome } = await person.submit(interactionId);
    expect(outcome.case).toBe('tenantMismatch');
    expect(outcome.value).toMatchObject({ interaction: { interactionId, tenantId: 'umbra' } });
    expect(world.directory.calls.verifyPassword).toBe(checks);
    expect((await sessionOf(person))?.tenantId).toBe('acme');
    await world.gateway.endSession({ browser: person.context() });
    expect((await person.submit(interactionId)).outcome.case).toBe('signedIn');
  });
});

describe('signing in without an authorization request', () => {
  it('opens a session of the tenant under the same rules', async () => {
    const person = newPerson(world);
    const attempt = { tenantId: 'umbra', identifier: 'ada', password };
    const wrong = await signInAtPage(world, {
      browser: person.context(),
      ...attempt,
      password: 'wrong',
    });
    expect(wrong.session).toBeUndefined();
    const { session } = await signInAtPage(world, { browser: person.context(), ...attempt });
    person.sessionToken = session?.sessionToken ?? '';
    expect(await sessionOf(person)).toMatchObject({ tenantId: 'umbra', userId: 'umbra-ada' });
    expect((await person.redirect(umbra)).has('code')).toBe(true);
    const elsewhere = await signInAtPage(world, {
      browser: person.context(),
      ...attempt,
      tenantId: 'acme',
    });
    expect([elsewhere.session, elsewhere.tenantMismatch]).toEqual([undefined, true]);
  });
});

describe('opaque values', () => {
  it('are not interchangeable, and a wrong use does not consume them (each kind has its own prefix and key space)', async () => {
    const person = newPerson(world);
    const code = await person.signIn();
    const interactionId = await person.interaction({ prompt: 'login' });
    const values = [code, interactionId, person.sessionToken, person.browserId];
    for (const value of values) {
      if (value !== code) {
        const redeemed = world.token.redeemCode(redemption(value));
        await expect(redeemed).rejects.toMatchObject({ code: 'invalid_grant' });
      }
      if (value !== interactionId) {
        await expect(person.submit(value)).rejects.toMatchObject(invalidContext);
      }
      if (value !== person.sessionToken) {
        const browser = { ...person.context(), sessionToken: value };
        expect((await world.gateway.getSession({ browser })).session).toBeUndefined();
      }
    }
    await expect(world.token.redeemCode(redemption(code))).resolves.toBeDefined();
    const { outcome } = await person.submit(interactionId);
    expect(outcome.case === 'signedIn' && codeOf(outcome.value.redirect?.location)).toMatch(/^tc_/);
  });
});
