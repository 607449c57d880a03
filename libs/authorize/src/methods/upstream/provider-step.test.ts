import { generateKeyPair } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OwnPage_Name, type Step } from '@tessera/proto-gen/authorize';
import { Status } from '@tessera/proto-gen/directory';
import type { FakeProvider as FakeDeclared } from '@tessera/directory-client/testing';
import { startFakeProvider, type FakeProvider } from '../../testing/fake-provider.ts';
import { codeOf, newPerson, redemption, type Person } from '../../testing/visitor.ts';
import { createWorld, issuer, request, type World } from '../../testing/world.ts';
import { waitFor } from '@tessera/test-kit';

let world: World;
let corp: FakeProvider;
let other: FakeProvider;
beforeAll(async () => {
  world = await createWorld({ config: { TESSERA_ALLOW_PRIVATE: ['providers'] } });
  [corp, other] = [await startFakeProvider(), await startFakeProvider()];
  const { providers } = world.directory;
  providers.add({ name: 'corp', issuer: corp.issuer, displayName: 'Corp', domains: ['corp.example'] });
  providers.add({ name: 'other', issuer: other.issuer });
  providers.add({ name: 'corp', tenantId: 'umbra', issuer: other.issuer });
  providers.bind('acme', 'corp', 'ada', 'acme-ada');
  providers.bind('acme', 'other', 'ada', 'acme-bob');
});
afterAll(() => world.service.close());
beforeEach(() => {
  corp.faults = {};
});

type Next = Awaited<ReturnType<typeof send>>;

async function begin(person: Person, difference: Record<string, string> = {}): Promise<Step> {
  const visit = { case: 'request', value: { parameters: request(difference) } } as const;
  return stepOf((await world.gateway.begin({ browser: person.context(), visit })).next?.next);
}

async function send(person: Person, step: Step, fields: Record<string, string>) {
  const visit = { case: 'interactionId', value: step.interaction?.interactionId ?? '' } as const;
  const browser = person.context();
  return (await world.gateway.continue({ browser, visit, step: 'provider', fields })).next?.next;
}

function stepOf(next: Next): Step {
  if (next?.case !== 'step') throw new Error(`no step but ${next?.case}`);
  return next.value;
}

function locationOf(next: Next): string {
  if (next?.case !== 'redirect') throw new Error(`no redirect but ${next?.case} ${stepOf(next).problem}`);
  return next.value.location;
}

/** Begins and leaves for a provider; returns where the browser goes. */
async function leave(person: Person, difference: Record<string, string> = {}, provider = 'corp') {
  return locationOf(await send(person, await begin(person, difference), { provider }));
}

/** The browser brings something back to the address of a provider. */
async function bring(person: Person, query: URLSearchParams | string, provider = 'corp', tenantId = 'acme') {
  const answer = { tenantId, provider, query: query.toString() };
  const { next, session, resume } = await world.gateway.answerFromProvider({
    browser: person.context(),
    ...answer,
  });
  if (session !== undefined) person.sessionToken = session.sessionToken;
  return { next: next?.next, resume };
}

/** A whole sign-in; what the client's code is for. */
async function signIn(
  person: Person,
  claims: Record<string, unknown> = {},
  difference: Record<string, string> = {},
) {
  const { next } = await bring(person, corp.signIn(await leave(person, difference), claims));
  return (await world.token.redeemCode(redemption(codeOf(locationOf(next))))).userGrant;
}

const refusedWith = async (person: Person, query: URLSearchParams, provider?: string, tenantId?: string) =>
  stepOf((await bring(person, query, provider, tenantId)).next).problem;

async function lastRefusal() {
  const rows = await world.audited('auth.login.failed');
  return rows.at(-1);
}

describe('signing in with the provider of a company', () => {
  it('is offered beside the password, and takes its place', async () => {
    const person = newPerson(world);
    const page = await begin(person);
    expect(page.name).toBe('password');
    expect(JSON.parse(page.shown['providers'] ?? '')).toEqual({
      shown: [
        { name: 'corp', displayName: 'Corp' },
        { name: 'other', displayName: 'OTHER' },
      ],
      hasDomains: true,
    });
    const grant = await signIn(person);
    expect(grant).toMatchObject({ userId: 'acme-ada', authentication: { methods: ['fed'] } });
    expect((await person.redirect({ prompt: 'none' })).has('code'), 'single sign-on').toBe(true);
  });

  it('asks with PKCE, state, nonce and an address for this provider alone (OIDC Core §3.1.2.1, RFC 7636, RFC 9700 §4.4.2)', async () => {
    const url = new URL(await leave(newPerson(world)));
    expect(url.origin + url.pathname).toBe(`${corp.issuer}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'tessera',
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: `${issuer}/login/provider/acme/corp`,
      state: expect.stringMatching(/^ti_[\w-]{43}\.[\w-]{22}$/) as string,
      nonce: expect.stringMatching(/^[\w-]{43}$/) as string,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
      code_challenge_method: 'S256',
    });
  });

  it('passes on prompt, max_age, login_hint, acr_values and ui_locales', async () => {
    const asked = {
      prompt: 'login',
      max_age: '300',
      login_hint: 'ada@corp.example',
      acr_values: '2',
      ui_locales: 'de en',
    };
    const { searchParams } = new URL(await leave(newPerson(world), asked));
    expect(Object.fromEntries(searchParams)).toMatchObject(asked);
    const selecting = new URL(await leave(newPerson(world), { prompt: 'select_account' }));
    expect(selecting.searchParams.get('prompt')).toBe('select_account');
  });

  it('is found by the domain of an address, which goes on as login_hint', async () => {
    const person = newPerson(world);
    const page = await begin(person);
    const next = await send(person, page, { provider: '', identifier: ' Ada@Corp.Example ' });
    const { origin, searchParams } = new URL(locationOf(next));
    expect([origin, searchParams.get('login_hint')]).toEqual([corp.issuer, 'Ada@Corp.Example']);
    // Full-width letters: one domain has one form.
    const wide = await send(person, page, { provider: '', identifier: 'ada@ｃorp.example' });
    expect(new URL(locationOf(wide)).origin).toBe(corp.issuer);
    for (const identifier of ['ada@elsewhere.example', 'ada', '', '@corp.example', 'ada@corp.example.'])
      expect(stepOf(await send(person, page, { provider: '', identifier })).problem).toBe('unknown_domain');
    expect(stepOf(await send(person, page, { provider: 'gone' })).problem).toBe('unknown_provider');
  });

  it('tells the directory what the provider proved, the address with whether it is verified', async () => {
    const { proofs } = world.directory.providers;
    await signIn(newPerson(world), { email: 'ada@corp.example', email_verified: true, name: 'Ada L' });
    expect(proofs.at(-1)).toMatchObject({
      tenantId: 'acme',
      provider: 'corp',
      issuer: corp.issuer,
      subject: 'ada',
      email: 'ada@corp.example',
      emailVerified: true,
      name: 'Ada L',
    });
    for (const email_verified of [false, undefined, 'yes', 1, null]) {
      await signIn(newPerson(world), { email: 'ada@corp.example', email_verified, name: 'x' });
      expect(proofs.at(-1)?.emailVerified, String(email_verified)).toBe(false);
    }
  });

  it('asks the UserInfo endpoint for what the ID token lacks, of the same person only (OIDC Core §5.3.2)', async () => {
    const { proofs } = world.directory.providers;
    const person = newPerson(world);
    const inUserInfo = { email: 'ada@corp.example', email_verified: true, name: 'Ada' };
    await bring(person, corp.signIn(await leave(person), {}, inUserInfo));
    expect(proofs.at(-1)).toMatchObject({ email: 'ada@corp.example', emailVerified: true, name: 'Ada' });
    // Half of it from each would verify an address that nobody verified.
    const crossed = newPerson(world);
    await bring(
      crossed,
      corp.signIn(await leave(crossed), { email: 'eve@evil.example' }, { email_verified: true, email: '' }),
    );
    expect(proofs.at(-1)).toMatchObject({ email: 'eve@evil.example', emailVerified: false });
    const foreign = newPerson(world);
    const query = corp.signIn(await leave(foreign), {}, { sub: 'somebody else', email: 'a@b.example' });
    expect(await refusedWith(foreign, query)).toBe('invalid_answer');
  });

  it('counts from when the person signed in there (OIDC Core §2, auth_time)', async () => {
    const before = Math.floor(Date.now() / 1000) - 500;
    const grant = await signIn(newPerson(world), { auth_time: before });
    expect(grant?.authentication?.time).toBe(before);
    const later = await signIn(newPerson(world), { auth_time: before + 10_000 });
    expect(later?.authentication?.time).toBeLessThan(before + 1000);
  });

  it('leads to the pages of ours, which say what they need to go on, and asks anew there', async () => {
    const person = newPerson(world);
    const page = { name: OwnPage_Name.DEVICE, tenantId: 'acme' };
    const visit = { case: 'page', value: page } as const;
    const browser = person.context();
    const begun = stepOf((await world.gateway.begin({ browser, visit })).next?.next);
    expect(begun.shown).toHaveProperty('providers');
    const fields = { provider: 'corp', resume: 'going=device&user_code=ABCD' };
    const { next } = await world.gateway.continue({ browser, visit, step: 'provider', fields });
    const location = locationOf(next?.next);
    expect(new URL(location).searchParams.get('prompt')).toBe('login');
    const done = await bring(person, corp.signIn(location));
    expect([done.next?.case, done.resume]).toEqual(['done', 'going=device&user_code=ABCD']);
    expect((await world.gateway.getSession({ browser: person.context() })).session?.userId).toBe('acme-ada');
  });

  it('asks for the second factor of ours, which the provider is not trusted with', async () => {
    world.directory.addUser('acme-otp', { username: 'otp', totpCode: '123123' });
    world.directory.providers.bind('acme', 'corp', 'otp', 'acme-otp');
    const person = newPerson(world);
    const query = corp.signIn(await leave(person), { sub: 'otp', amr: ['pwd', 'mfa', 'hwk'], acr: '3' });
    const step = stepOf((await bring(person, query)).next);
    expect(step.name).toBe('totp');
    const visit = { case: 'interactionId', value: step.interaction?.interactionId ?? '' } as const;
    const browser = person.context();
    const fields = { totp_code: '123123' };
    const { next } = await world.gateway.continue({ browser, visit, step: 'totp', fields });
    const { userGrant } = await world.token.redeemCode(redemption(codeOf(locationOf(next?.next))));
    expect(userGrant?.authentication?.methods).toEqual(['fed', 'otp', 'mfa']);
  });
});

describe('a provider that is trusted with more', () => {
  const whileDeclared = async (fields: Partial<FakeDeclared>, work: () => Promise<void>) => {
    const declared = world.directory.providers.get('acme', 'corp');
    const before = { ...declared };
    Object.assign(declared, fields);
    try {
      await work();
    } finally {
      Object.assign(declared, before);
    }
  };

  it('says which factors there were, by registered names (RFC 8176 §2)', async () => {
    await whileDeclared({ trustsFactors: true }, async () => {
      const amr = ['pwd', 'mfa', 'otp', 'admin', 7, 'fed'];
      const grant = await signIn(newPerson(world), { amr }, { acr_values: '2' });
      expect(grant?.authentication?.methods).toEqual(['fed', 'pwd', 'mfa', 'otp']);
      const without = await signIn(newPerson(world), { amr: 'mfa' });
      expect(without?.authentication?.methods).toEqual(['fed']);
    });
  });

  it('passes on the mapped claims alone, and which of them it left out (group overage, OIDC Core §5.6.2)', async () => {
    const { proofs } = world.directory.providers;
    await whileDeclared({ mappedClaims: ['groups', 'dept'] }, async () => {
      await signIn(newPerson(world), { groups: ['finance'], other: 'x' });
      expect(proofs.at(-1)).toMatchObject({
        claims: { groups: ['finance'] },
        knownClaims: ['groups', 'dept'],
      });
      expect(proofs.at(-1)?.claims).not.toHaveProperty('other');
      const elsewhere = {
        _claim_names: { groups: 'src1' },
        _claim_sources: { src1: { endpoint: 'https://x' } },
      };
      await signIn(newPerson(world), elsewhere);
      expect(proofs.at(-1)?.knownClaims).toEqual(['dept']);
      await signIn(newPerson(world), { hasgroups: true });
      expect(proofs.at(-1)?.knownClaims).toEqual(['dept']);
    });
    await signIn(newPerson(world), { groups: ['finance'] });
    expect(proofs.at(-1)?.claims, 'nothing is mapped').toBeUndefined();
  });
});

describe('an answer that nobody asked for', () => {
  it('is refused without a visit of this browser: unsolicited, foreign, malformed (login CSRF, CVE-2026-7507)', async () => {
    const person = newPerson(world);
    const query = corp.signIn(await leave(person));
    const foreign = newPerson(world);
    await expect(bring(foreign, query)).rejects.toMatchObject({ code: 'invalid_request' });
    const state = query.get('state') ?? '';
    for (const unsolicited of [
      'code=x',
      'code=x&state=',
      'code=x&state=abc',
      `code=x&state=ti_${'a'.repeat(43)}.${'a'.repeat(22)}`,
      `code=x&state=${state}&state=${state}`,
      `code=x&state=${state.slice(0, 46)}`,
    ])
      await expect(bring(person, unsolicited)).rejects.toMatchObject({ code: 'invalid_request' });
    // A visit that was never sent anywhere.
    const begun = await begin(person);
    const forged = `code=x&state=${begun.interaction?.interactionId}.${'a'.repeat(22)}`;
    await expect(bring(person, forged)).rejects.toMatchObject({ code: 'invalid_request' });
    // Nothing of that used the answer up.
    expect(locationOf((await bring(person, query)).next)).toContain('code=tc_');
  });

  it('is refused if the browser left for somewhere else meanwhile', async () => {
    const person = newPerson(world);
    const page = await begin(person);
    const first = locationOf(await send(person, page, { provider: 'corp' }));
    const second = locationOf(await send(person, page, { provider: 'corp' }));
    expect(await refusedWith(person, corp.signIn(first))).toBe('invalid_answer');
    expect(locationOf((await bring(person, corp.signIn(second))).next)).toContain('code=');
  });

  it('is accepted once, of any number of tries at the same time (replay)', async () => {
    const person = newPerson(world);
    const query = corp.signIn(await leave(person));
    const tokens = corp.asked.filter((path) => path === '/token').length;
    const all = await Promise.allSettled(Array.from({ length: 8 }, async () => bring(person, query)));
    const cases = all.map((one) => (one.status === 'fulfilled' ? one.value.next?.case : 'error'));
    expect(cases.filter((one) => one === 'redirect')).toHaveLength(1);
    expect(corp.asked.filter((path) => path === '/token')).toHaveLength(tokens + 1);
    const again = await bring(person, query).then(
      ({ next }) => next?.case,
      () => 'error',
    );
    expect(['step', 'error']).toContain(again);
  });

  it('expires with the visit', async () => {
    const short = await createWorld({
      beside: world,
      config: { TESSERA_ALLOW_PRIVATE: ['providers'], TESSERA_AUTHORIZATION_REQUEST_TTL: 0.5 },
    });
    const person = newPerson(short);
    const visit = { case: 'request', value: { parameters: request() } } as const;
    const browser = person.context();
    const page = stepOf((await short.gateway.begin({ browser, visit })).next?.next);
    const at = { case: 'interactionId', value: page.interaction?.interactionId ?? '' } as const;
    const fields = { provider: 'corp' };
    const left = await short.gateway.continue({ browser, visit: at, step: 'provider', fields });
    const query = corp.signIn(locationOf(left.next?.next)).toString();
    await new Promise((done) => setTimeout(done, 700));
    const late = short.gateway.answerFromProvider({ browser, tenantId: 'acme', provider: 'corp', query });
    await expect(late).rejects.toMatchObject({ code: 'invalid_request' });
    await short.service.close();
  });
});

describe('a mix-up (RFC 9207, RFC 9700 §4.4)', () => {
  it('is refused: another iss, none where one is promised, the address of another provider or tenant', async () => {
    const changed = async (
      change: (query: URLSearchParams) => void,
      provider?: string,
      tenantId?: string,
    ) => {
      const person = newPerson(world);
      const query = corp.signIn(await leave(person));
      change(query);
      return refusedWith(person, query, provider, tenantId);
    };
    const tokens = () => [...corp.asked, ...other.asked].filter((path) => path === '/token').length;
    const before = tokens();
    expect(await changed((query) => query.set('iss', other.issuer))).toBe('invalid_answer');
    expect(await changed((query) => query.delete('iss'))).toBe('invalid_answer');
    expect(await changed((query) => query.set('iss', `${corp.issuer}/`))).toBe('invalid_answer');
    expect(await changed(() => undefined, 'other')).toBe('invalid_answer');
    expect(await changed(() => undefined, 'corp', 'umbra')).toBe('invalid_answer');
    expect(tokens(), 'no code was sent to anybody').toBe(before);
  });

  it('is refused if the provider was declared anew with another issuer meanwhile', async () => {
    const person = newPerson(world);
    const query = corp.signIn(await leave(person));
    const declared = world.directory.providers.get('acme', 'corp');
    const { issuer: original } = declared;
    declared.issuer = other.issuer;
    expect(await refusedWith(person, query)).toBe('invalid_answer');
    declared.issuer = original;
  });
});

describe('an ID token (OIDC Core §3.1.3.7)', () => {
  const tried = async (faults: FakeProvider['faults'], difference: Record<string, string> = {}) => {
    const person = newPerson(world);
    const query = corp.signIn(await leave(person, difference));
    corp.faults = faults;
    const { next } = await bring(person, query);
    return next?.case === 'redirect' ? '' : stepOf(next).problem;
  };

  it.each([
    ['another nonce', { claims: { nonce: 'another' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['another issuer', { claims: { iss: 'https://evil.example' } }],
    ['issuers as a list (CVE-2025-30144)', { claims: { iss: ['https://evil.example'] } }],
    ['another audience', { claims: { aud: 'another client' } }],
    ['several audiences and no azp', { claims: { aud: ['tessera', 'another client'] } }],
    ['no subject', { claims: { sub: undefined } }],
    ['a subject that is no text', { claims: { sub: 7 } }],
    ['an expired one', { claims: { exp: 1 } }],
    ['one of the future', { claims: { iat: Math.floor(Date.now() / 1000) + 600, nbf: 4e9 } }],
    ['one that is made in the future', { claims: { iat: Math.floor(Date.now() / 1000) + 600 } }],
    ['none at all', { token: { id_token: undefined } }],
    ['another signature', { signature: 'AAAA' }],
    ['no signature', { signature: '' }],
    ['a refused code', { tokenError: { status: 400, body: { error: 'invalid_grant' } } }],
    ['a wrong client secret', { tokenError: { status: 401, body: { error: 'invalid_client' } } }],
  ])('with %s is refused', async (_name, faults) => {
    expect(await tried(faults as FakeProvider['faults'])).toBe('invalid_answer');
  });

  it('of a provider whose clock is some seconds ahead is accepted', async () => {
    expect(await tried({ claims: { iat: Math.floor(Date.now() / 1000) + 10 } })).toBe('');
  });

  it('that cannot be read is none', async () => {
    expect(await tried({ token: { id_token: 'x.y.z' } })).toBe('unreachable');
  });

  it('signed by a secret or by an unknown key is refused (JWT-1, JWT-3)', async () => {
    const secret = new TextEncoder().encode('a secret of the provider, which is the client secret');
    expect(await tried({ algorithm: 'HS256', signsWith: secret })).toBe('invalid_answer');
    const metadata = { id_token_signing_alg_values_supported: ['RS256', 'HS256'] };
    expect(await tried({ algorithm: 'HS256', signsWith: secret, metadata })).toBe('invalid_answer');
    const { privateKey } = await generateKeyPair('RS256');
    expect(await tried({ signsWith: privateKey })).toBe('invalid_answer');
  });

  it('of an earlier sign-in is refused where the application asks for a new one, and without auth_time where it asks for an age', async () => {
    const early = Math.floor(Date.now() / 1000) - 600;
    expect(await tried({ claims: { auth_time: early } }, { prompt: 'login' })).toBe('not_recent');
    expect(await tried({ claims: { auth_time: early } }, { max_age: '60' })).toBe('invalid_answer');
    const without = { claims: { auth_time: undefined } };
    expect(['not_recent', 'invalid_answer']).toContain(await tried(without, { max_age: '60' }));
    const now = Math.floor(Date.now() / 1000);
    corp.faults = {};
    const grant = await signIn(newPerson(world), { auth_time: now }, { prompt: 'login', max_age: '60' });
    expect(grant?.authentication?.time).toBe(now);
  });

  it('without auth_time is refused where the person must be asked anew: they may have taken prompt out of the address', async () => {
    const silent = { claims: { auth_time: undefined } };
    const early = { claims: { auth_time: Math.floor(Date.now() / 1000) - 600 } };
    for (const asked of [{ prompt: 'login' }, { max_age: '0' }]) {
      const { searchParams } = new URL(await leave(newPerson(world), asked));
      expect([searchParams.get('prompt'), searchParams.get('max_age')]).toEqual(['login', '60']);
      expect(await tried(silent, asked)).toBe('not_recent');
      expect(await tried(early, asked)).toBe('not_recent');
      expect(await tried({}, asked), 'somebody').toBe('');
    }
    const declared = world.directory.providers.get('acme', 'corp');
    declared.preset = 'google';
    const { searchParams } = new URL(await leave(newPerson(world), { prompt: 'login' }));
    expect([searchParams.get('prompt'), searchParams.get('max_age')]).toEqual(['select_account', null]);
    expect(await tried(silent, { prompt: 'login' }), 'it has none').toBe('');
    expect(await tried(silent, { max_age: '0' })).toBe('not_recent');
    declared.preset = 'none';
  });

  it('is recorded as refused with what was wrong, without any of the answer', async () => {
    const person = newPerson(world);
    const query = corp.signIn(await leave(person));
    corp.faults = { claims: { nonce: 'another' } };
    await bring(person, query);
    await waitFor(async () => {
      const row = await lastRefusal();
      expect(row).toMatchObject({
        reason: 'provider_invalid',
        tenantId: 'acme',
        clientId: 'acme-web',
        details: { provider: 'corp', detail: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' },
      });
      expect(JSON.stringify(row)).not.toContain(query.get('code') ?? 'no code');
    });
  });
});

describe('a provider', () => {
  it('that signs with new keys is believed at once (key rotation)', async () => {
    await signIn(newPerson(world));
    await corp.rotateKeys();
    expect((await signIn(newPerson(world)))?.userId).toBe('acme-ada');
    await corp.rotateKeys();
    expect((await signIn(newPerson(world)))?.userId).toBe('acme-ada');
  });

  it('that refuses, or whose person goes back, leaves the sign-in page', async () => {
    const person = newPerson(world);
    const query = corp.signIn(await leave(person));
    query.delete('code');
    query.set('error', 'access_denied');
    expect(await refusedWith(person, query)).toBe('denied_answer');
    const again = newPerson(world);
    const later = corp.signIn(await leave(again));
    later.delete('code');
    later.set('error', 'temporarily_unavailable');
    expect(await refusedWith(again, later)).toBe('unreachable');
  });

  it('that is unavailable leaves the password usable, both before and after the redirect', async () => {
    const away = await startFakeProvider();
    world.directory.providers.add({ name: 'away', issuer: away.issuer });
    await new Promise((done) => setTimeout(done, 1_100));
    const person = newPerson(world);
    const page = await begin(person);
    away.faults = { isAway: true };
    const refused = stepOf(await send(person, page, { provider: 'away' }));
    expect(refused).toMatchObject({ name: 'password', problem: 'unreachable' });
    expect((await person.submit(page.interaction?.interactionId ?? '')).outcome.case).toBe('signedIn');

    const back = newPerson(world);
    const query = corp.signIn(await leave(back));
    corp.faults = { tokenError: { status: 502, body: {} } };
    const returned = stepOf((await bring(back, query)).next);
    expect(returned).toMatchObject({ name: 'password', problem: 'unreachable' });
    expect((await back.submit(returned.interaction?.interactionId ?? '')).outcome.case).toBe('signedIn');
    expect((await lastRefusal())?.['reason']).toBe('provider_unreachable');
  });

  it.each([
    ['another issuer', { issuer: 'https://evil.example' }],
    ['an address that is a script', { authorization_endpoint: 'javascript:alert(1)' }],
    ['no keys', { jwks_uri: undefined }],
  ])('whose metadata has %s is not used (OIDC Discovery §4.3)', async (name, metadata) => {
    const bad = await startFakeProvider();
    bad.faults = { metadata };
    world.directory.providers.add({ name: `bad-${name.length}`, issuer: bad.issuer });
    const person = newPerson(world);
    const step = stepOf(await send(person, await begin(person), { provider: `bad-${name.length}` }));
    expect(step.problem).toBe('unreachable');
  });

  it('at an address that is not public, or without TLS, is not asked unless that is allowed (SSRF-2)', async () => {
    const guarded = await createWorld({ beside: world });
    const person = newPerson(guarded);
    const visit = { case: 'request', value: { parameters: request() } } as const;
    const browser = person.context();
    const page = stepOf((await guarded.gateway.begin({ browser, visit })).next?.next);
    const before = corp.asked.length;
    const at = { case: 'interactionId', value: page.interaction?.interactionId ?? '' } as const;
    const fields = { provider: 'corp' };
    const { next } = await guarded.gateway.continue({ browser, visit: at, step: 'provider', fields });
    expect(stepOf(next?.next).problem).toBe('unreachable');
    expect(corp.asked).toHaveLength(before);
    await guarded.service.close();
  });

  it('signs nobody in whom the tenant does not know or has disabled, in the same words', async () => {
    for (const sub of ['nobody', 'disabled', 'foreign', 'a\0b']) {
      const person = newPerson(world);
      world.directory.addUser('acme-disabled', { username: 'disabled', status: Status.DISABLED });
      world.directory.providers.bind('acme', 'corp', 'disabled', 'acme-disabled');
      world.directory.providers.bind('umbra', 'corp', 'foreign', 'umbra-ada');
      expect(await refusedWith(person, corp.signIn(await leave(person), { sub }))).toBe('no_account');
    }
    await waitFor(async () => expect((await lastRefusal())?.['reason']).toBe('provider_no_account'));
  });
});
