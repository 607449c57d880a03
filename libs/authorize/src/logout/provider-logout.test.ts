import type { OAuthError } from '@tessera/oauth';
import { generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startFakeProvider, type FakeProvider } from '../testing/fake-provider.ts';
import { codeOf, newPerson, redemption, type Person } from '../testing/visitor.ts';
import { createWorld, issuer, request, type World } from '../testing/world.ts';
import { waitFor } from '@tessera/test-kit';

let world: World;
let corp: FakeProvider;
let other: FakeProvider;
let count = 0;
let sub: string;

beforeAll(async () => {
  world = await createWorld({ config: { TESSERA_ALLOW_PRIVATE: ['providers'] } });
  [corp, other] = [await startFakeProvider(), await startFakeProvider()];
  const { providers } = world.directory;
  providers.add({ name: 'corp', issuer: corp.issuer, createsAccounts: true, signsOut: true });
  providers.add({ name: 'quiet', issuer: other.issuer, createsAccounts: true });
  providers.add({ name: 'corp', tenantId: 'umbra', issuer: other.issuer, createsAccounts: true });
});
afterAll(() => world.service.close());
beforeEach(() => {
  corp.faults = {};
  sub = `s-${(count += 1)}`;
});

/** Signs somebody in with a provider; returns the browser and the code of the application. */
async function signedIn(claims: object = {}, provider = 'corp', person = newPerson(world)) {
  const browser = person.context();
  const parameters = request({ prompt: 'login' });
  const { next } = await world.gateway.begin({ browser, visit: { case: 'request', value: { parameters } } });
  const value = next?.next.case === 'step' ? (next.next.value.interaction?.interactionId ?? '') : '';
  const visit = { case: 'interactionId', value } as const;
  const sent = await world.gateway.continue({ browser, visit, step: 'provider', fields: { provider } });
  const location = sent.next?.next.case === 'redirect' ? sent.next.next.value.location : '';
  const from = provider === 'corp' ? corp : other;
  const query = from.signIn(location, { sub, ...claims }).toString();
  const answer = await world.gateway.answerFromProvider({ browser, tenantId: 'acme', provider, query });
  person.sessionToken = answer.session?.sessionToken ?? '';
  const back = answer.next?.next.case === 'redirect' ? answer.next.next.value.location : '';
  return { person, code: codeOf(back) };
}

const isSignedIn = async (person: Person) =>
  (await world.gateway.getSession({ browser: person.context() })).session !== undefined;

describe('signing out of a session that a provider made', () => {
  const back = { providerReturnUri: `${issuer}/logout/provider`, providerReturnState: 'a state' };
  const signOut = async (person: Person, difference: object = {}) =>
    world.gateway.endSession({ browser: person.context(), ...back, ...difference });

  it('leads to its end_session_endpoint with the ID token, and ends the session here first (OIDC RP-Initiated Logout §2)', async () => {
    const { person } = await signedIn({ sid: 'upstream-1' });
    const answer = await signOut(person, {
      clientId: 'acme-web',
      postLogoutRedirectUri: 'https://app.example/',
    });
    expect(answer).toMatchObject({ sessionEnded: true, location: 'https://app.example/?logged_out=1' });
    const url = new URL(answer.providerLocation);
    expect(url.origin + url.pathname).toBe(`${corp.issuer}/end`);
    const { id_token_hint: hint, ...others } = Object.fromEntries(url.searchParams);
    expect(others).toEqual({
      client_id: 'tessera',
      post_logout_redirect_uri: `${issuer}/logout/provider`,
      state: 'a state',
    });
    const [, payload = ''] = hint?.split('.') ?? [];
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({
      sub,
      sid: 'upstream-1',
    });
    expect(await isSignedIn(person)).toBe(false);
  });

  it('sends a hint in its place to a browser without the cookie under which the ID token is encrypted', async () => {
    const { person } = await signedIn({ sid: 'upstream-2' });
    person.browserId = newPerson(world).browserId;
    const { searchParams } = new URL((await signOut(person)).providerLocation);
    expect([searchParams.get('id_token_hint'), searchParams.get('logout_hint')]).toEqual([
      null,
      'upstream-2',
    ]);
    const { person: without } = await signedIn();
    without.browserId = '';
    expect(new URL((await signOut(without)).providerLocation).searchParams.get('logout_hint')).toBe(sub);
  });

  it('keeps no ID token in clear, and none that is too long', async () => {
    const { person } = await signedIn({ sid: 'upstream-3', email: 'ada@corp.example' });
    const rows = await world.database.query<{ upstream: Record<string, string> }>({
      name: 'test.upstream_sessions',
      text: `SELECT upstream FROM authorize.session WHERE upstream ->> 'subject' = $1`,
      values: [sub],
    });
    expect(rows.rows[0]?.upstream).toEqual({
      provider: 'corp',
      issuer: corp.issuer,
      subject: sub,
      sid: 'upstream-3',
      hint: expect.stringMatching(/^[\w-]+$/) as string,
    });
    const url = new URL((await signOut(person)).providerLocation);
    for (const part of (url.searchParams.get('id_token_hint') ?? '').split('.'))
      expect(JSON.stringify(rows.rows)).not.toContain(part);
    const { person: long } = await signedIn({ groups: ['x'.repeat(4_000)], sid: 'upstream-4' });
    const { searchParams } = new URL((await signOut(long)).providerLocation);
    expect([searchParams.has('id_token_hint'), searchParams.get('logout_hint')]).toEqual([
      false,
      'upstream-4',
    ]);
  });

  it('leads nowhere else unless the provider is declared so, is there, and made the session', async () => {
    const { person: quiet } = await signedIn({}, 'quiet');
    expect(await signOut(quiet)).toMatchObject({ sessionEnded: true, providerLocation: '' });
    const { person: own } = await signedIn();
    expect((await signOut(own, { providerReturnUri: '' })).providerLocation, 'of a page of ours').toBe('');
    const local = newPerson(world);
    await local.signIn();
    expect((await signOut(local)).providerLocation, 'a password').toBe('');
    const { person: fresh } = await signedIn();
    await fresh.signIn({ prompt: 'login' }, { identifier: 'ada' });
    expect((await signOut(fresh)).providerLocation, 'somebody else with a password').toBe('');
    const { person: moved } = await signedIn();
    const declared = world.directory.providers.get('acme', 'corp');
    declared.issuer = other.issuer;
    expect((await signOut(moved)).providerLocation, 'declared anew').toBe('');
    declared.issuer = corp.issuer;
  });

  it('signs out here although the provider cannot be reached, or has no such address', async () => {
    const away = await startFakeProvider();
    away.faults = { metadata: { end_session_endpoint: undefined } };
    world.directory.providers.add({ name: 'away', issuer: away.issuer, signsOut: true });
    for (const metadata of [{ end_session_endpoint: 'javascript:alert(1)' }, {}]) {
      const { person } = await signedIn();
      await world.database.query({
        name: 'test.move_upstream_session',
        text: `UPDATE authorize.session SET upstream = jsonb_set(jsonb_set(upstream, '{provider}', '"away"'), '{issuer}', to_jsonb($2::text))
                WHERE upstream ->> 'subject' = $1`,
        values: [sub, away.issuer],
      });
      expect(await signOut(person)).toMatchObject({ sessionEnded: true, providerLocation: '' });
      expect(await isSignedIn(person)).toBe(false);
      away.faults = { metadata };
    }
    const gone = await startFakeProvider();
    gone.faults = { isAway: true };
    const { person } = await signedIn();
    const declared = world.directory.providers.get('acme', 'corp');
    declared.issuer = gone.issuer;
    await world.database.query({
      name: 'test.move_upstream_issuer',
      text: `UPDATE authorize.session SET upstream = jsonb_set(upstream, '{issuer}', to_jsonb($2::text)) WHERE upstream ->> 'subject' = $1`,
      values: [sub, gone.issuer],
    });
    expect(await signOut(person)).toMatchObject({ sessionEnded: true, providerLocation: '' });
    declared.issuer = corp.issuer;
  });
});

describe('a logout token (OIDC Back-Channel Logout)', () => {
  const event = 'http://schemas.openid.net/event/backchannel-logout';
  const now = () => Math.floor(Date.now() / 1000);
  const claims = (difference: object = {}) => ({
    aud: 'tessera',
    jti: `jti-${count}-${Math.random()}`,
    events: { [event]: {} },
    sub,
    ...difference,
  });
  const send = async (logoutToken: string, difference: object = {}) =>
    world.gateway.endProviderSessions({
      issuer,
      tenantId: 'acme',
      provider: 'corp',
      logoutToken,
      ipAddress: '198.18.0.1',
      ...difference,
    });
  const sent = async (difference: object = {}, type = 'logout+jwt') =>
    send(await corp.sign(claims(difference), type));

  it('ends all sessions of its person that the provider made, with their codes, and no other (§2.7)', async () => {
    const [first, second] = [await signedIn({ sid: 'a' }), await signedIn({ sid: 'b' })];
    const mine = sub;
    sub = `${mine}-other`;
    const { person: somebody } = await signedIn();
    sub = mine;
    const answer = await sent();
    expect(answer.refused).toBe(false);
    expect(answer.sessions).toHaveLength(2);
    expect(answer.sessions[0]).toMatchObject({ tenantId: 'acme' });
    expect(await Promise.all([first.person, second.person, somebody].map(isSignedIn))).toEqual([
      false,
      false,
      true,
    ]);
    await expect(world.token.redeemCode(redemption(first.code))).rejects.toMatchObject({
      code: 'invalid_grant',
    });
    const ids = answer.sessions.map(({ sessionId }) => sessionId);
    const rows = (await world.audited('session.ended')).filter((row) =>
      ids.includes(String(row['sessionId'])),
    );
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatchObject({ reason: 'provider', ipAddress: '198.18.0.1', tenantId: 'acme' });
  });

  it('with a sid ends that session alone, and those of its person that are not known by one', async () => {
    const [first, second, without] = [
      await signedIn({ sid: `${sub}-a` }),
      await signedIn({ sid: `${sub}-b` }),
      await signedIn(),
    ];
    const people = [first.person, second.person, without.person];
    expect((await sent({ sid: `${sub}-a`, sub: undefined })).sessions).toHaveLength(1);
    expect(await Promise.all(people.map(isSignedIn))).toEqual([false, true, true]);
    expect((await sent({ sid: `${sub}-b`, sub: 'somebody else' })).sessions).toEqual([]);
    expect((await sent({ sid: `${sub}-b` })).sessions).toHaveLength(2);
    expect(await Promise.all(people.map(isSignedIn))).toEqual([false, false, false]);
  });

  it('notifies the applications of the sessions that it ends, as any other end does', async () => {
    await world.directory.changeApplication('acme-web', { backchannelLogoutUri: 'https://app.example/bye' });
    await signedIn({ sid: `${sub}-a` });
    const { sessions } = await sent();
    const rows = await world.database.query<{ session_id: string; client_id: string }>({
      name: 'test.notices_of_session',
      text: 'SELECT session_id, client_id FROM authorize.logout_notice WHERE session_id = $1',
      values: [sessions[0]?.sessionId],
    });
    expect(rows.rows).toEqual([{ session_id: sessions[0]?.sessionId, client_id: 'acme-web' }]);
    await world.directory.changeApplication('acme-web', { backchannelLogoutUri: '' });
  });

  it('also ends the session after a second factor, and not one that the person made later with a password', async () => {
    world.directory.addUser('acme-otp', { username: 'otp', totpCode: '123123', password: 'a password' });
    world.directory.providers.bind('acme', 'corp', sub, 'acme-otp');
    const person = newPerson(world);
    const browser = person.context();
    const visit = { case: 'request', value: { parameters: request() } } as const;
    const begun = await world.gateway.begin({ browser, visit });
    const value = begun.next?.next.case === 'step' ? begun.next.next.value.interaction?.interactionId : '';
    const at = { case: 'interactionId', value: value ?? '' } as const;
    const left = await world.gateway.continue({
      browser,
      visit: at,
      step: 'provider',
      fields: { provider: 'corp' },
    });
    const location = left.next?.next.case === 'redirect' ? left.next.next.value.location : '';
    const query = corp.signIn(location, { sub, sid: `${sub}-a` }).toString();
    await world.gateway.answerFromProvider({ browser, tenantId: 'acme', provider: 'corp', query });
    const fields = { totp_code: '123123' };
    const { session } = await world.gateway.continue({ browser, visit: at, step: 'totp', fields });
    person.sessionToken = session?.sessionToken ?? '';
    expect(await isSignedIn(person)).toBe(true);
    expect((await sent({ sid: `${sub}-a` })).sessions).toHaveLength(1);
    expect(await isSignedIn(person)).toBe(false);
  });

  it('is accepted once, of any number at the same time, and then ends nothing that began later (replay)', async () => {
    await signedIn();
    const token = await corp.sign(claims(), 'logout+jwt');
    const all = await Promise.all(Array.from({ length: 8 }, async () => send(token)));
    expect(all.filter(({ refused }) => !refused)).toHaveLength(1);
    expect(all.flatMap(({ sessions }) => sessions)).toHaveLength(1);
    const { person } = await signedIn();
    expect((await send(token)).refused).toBe(true);
    expect(await isSignedIn(person)).toBe(true);
  });

  it.each([
    ['another issuer', { iss: 'https://evil.example' }],
    ['another audience', { aud: 'another client' }],
    ['an expired one', { exp: 1 }],
    ['no exp', { exp: undefined }],
    ['one that was made long ago', { iat: Math.floor(Date.now() / 1000) - 3_600 }],
    ['one that is made in the future', { iat: Math.floor(Date.now() / 1000) + 600, exp: 4e9 }],
    ['no jti', { jti: undefined }],
    ['a jti that is no text', { jti: 7 }],
    ['no events', { events: undefined }],
    ['another event', { events: { 'http://schemas.openid.net/event/other': {} } }],
    ['an event that is null', { events: { [event]: null } }],
    ['an event that is a list', { events: { [event]: [] } }],
    ['events as a list', { events: [event] }],
    ['events as a text', { events: event }],
    ['a nonce, as an ID token has', { nonce: 'x' }],
    ['a nonce that is null', { nonce: null }],
    ['neither sid nor sub', { sub: undefined }],
    ['a sid that is no text', { sid: 7 }],
    ['an empty sub', { sub: '' }],
    ['NUL in its sid', { sid: 'a\0b' }],
  ])('with %s is refused (§2.6)', async (_name, difference) => {
    const { person } = await signedIn();
    expect(await sent(difference)).toMatchObject({ refused: true, sessions: [] });
    expect(await isSignedIn(person)).toBe(true);
  });

  it('that is unsigned, or signed by a secret, another key or another provider is refused (CVE-2026-18569)', async () => {
    const { person } = await signedIn();
    const unsigned = new UnsecuredJWT({ ...claims(), iss: corp.issuer, exp: now() + 60 })
      .setIssuedAt()
      .encode();
    const secret = new TextEncoder().encode('a secret of the provider, which is the client secret');
    const signed = async (alg: string, key: Parameters<SignJWT['sign']>[0]) =>
      new SignJWT({ ...claims(), iss: corp.issuer, exp: now() + 60 })
        .setProtectedHeader({ alg, kid: 'key-1', typ: 'logout+jwt' })
        .setIssuedAt()
        .sign(key);
    const { privateKey } = await generateKeyPair('RS256');
    for (const token of [
      unsigned,
      await signed('HS256', secret),
      await signed('RS256', privateKey),
      await other.sign(claims(), 'logout+jwt'),
      'x.y.z',
      '',
      'x'.repeat(100_000),
    ])
      expect((await send(token)).refused).toBe(true);
    expect(await isSignedIn(person)).toBe(true);
  });

  it('of another type is refused; without a type it counts (§2.4)', async () => {
    await signedIn();
    for (const type of ['at+jwt', 'id_token+jwt', 'secevent+jwt'])
      expect((await sent({}, type)).refused, type).toBe(true);
    expect((await sent({}, 'application/logout+jwt')).sessions).toHaveLength(1);
    await signedIn();
    expect((await sent({}, 'JWT')).sessions).toHaveLength(1);
  });

  it('at the address of another provider or tenant, or at an issuer that does not serve the tenant, is refused', async () => {
    const { person } = await signedIn();
    const token = await corp.sign(claims(), 'logout+jwt');
    for (const elsewhere of [
      { provider: 'quiet' },
      { provider: 'gone' },
      { tenantId: 'umbra' },
      { tenantId: 'nobody' },
      { issuerTenantId: 'umbra' },
    ])
      expect((await send(token, elsewhere)).refused).toBe(true);
    expect(await isSignedIn(person)).toBe(true);
    // None of these used it up.
    expect((await send(token)).sessions).toHaveLength(1);
  });

  it('signed with new keys is believed at once (key rotation), and invented keys make us ask for them once', async () => {
    await signedIn();
    await new Promise((done) => setTimeout(done, 5_100));
    await corp.rotateKeys();
    expect((await sent()).sessions).toHaveLength(1);
    const asked = corp.asked.filter((path) => path === '/jwks').length;
    const { privateKey } = await generateKeyPair('RS256');
    for (let round = 0; round < 5; round += 1) {
      const invented = new SignJWT({ ...claims(), iss: corp.issuer, exp: now() + 60 })
        .setProtectedHeader({ alg: 'RS256', kid: `invented-${round}` })
        .setIssuedAt();
      expect((await send(await invented.sign(privateKey))).refused).toBe(true);
    }
    expect(corp.asked.filter((path) => path === '/jwks').length - asked).toBeLessThanOrEqual(1);
  });

  it('waits with 31 others for a provider that is silent; the rest is refused at once, and an outage is recorded once', async () => {
    const silent = await startFakeProvider();
    silent.faults = { isSilent: true };
    const provider = `silent-${count}`;
    world.directory.providers.add({ name: provider, issuer: silent.issuer });
    const token = await corp.sign(claims(), 'logout+jwt');
    let answered = 0;
    const errors = Array.from({ length: 500 }, async () => {
      const error: unknown = await send(token, { provider }).catch((thrown: unknown) => thrown);
      answered += 1;
      return error as OAuthError;
    });
    await expect.poll(() => answered).toBe(468);
    const all = await Promise.all(errors);
    const reason = 'too many requests wait for the provider';
    expect(all.filter(({ refusal }) => refusal?.reason === reason)).toHaveLength(468);
    expect(all.map(({ code, retryAfterSeconds }) => `${code} ${retryAfterSeconds}`)).toEqual(
      Array(500).fill('temporarily_unavailable 2'),
    );
    const refusedFor = async (name: string) =>
      (await world.audited('auth.provider.logout_refused', 0)).filter(
        ({ details }) => (details as { provider: string }).provider === name,
      );
    await expect.poll(async () => (await refusedFor(provider)).length).toBe(1);
    // Rows are written in their order: a second one would come before this one.
    const before = (await refusedFor('corp')).length;
    await sent({ nonce: 'x' });
    await expect.poll(async () => (await refusedFor('corp')).length).toBe(before + 1);
    expect(await refusedFor(provider)).toHaveLength(1);
  });

  it('is to be sent again while the keys of the provider cannot be read, and is recorded as refused', async () => {
    const away = await startFakeProvider();
    away.faults = { isAway: true };
    world.directory.providers.add({ name: `away-${count}`, issuer: away.issuer });
    const token = await corp.sign(claims(), 'logout+jwt');
    await expect(send(token, { provider: `away-${count}` })).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    await sent({ nonce: 'x' });
    await waitFor(async () => {
      const rows = await world.audited('auth.provider.logout_refused');
      expect(rows.at(-1)).toMatchObject({
        reason: 'provider_invalid',
        tenantId: 'acme',
        ipAddress: '198.18.0.1',
        details: { provider: 'corp', detail: 'it has a nonce' },
      });
    });
  });
});
