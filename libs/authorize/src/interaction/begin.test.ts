import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApplicationType, Status } from '@tessera/proto-gen/directory';
import { createWorld, issuer, password, web } from '../testing/world.ts';
import type { World } from '../testing/world.ts';
import { redemption, newPerson } from '../testing/visitor.ts';
import type { Person } from '../testing/visitor.ts';
import { waitFor } from '@tessera/test-kit';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

const umbra = { client_id: 'umbra-web', redirect_uri: 'https://umbra.example/cb' };
const spa = { client_id: 'acme-spa', redirect_uri: 'https://spa.example/cb' };

describe('a browser without a session', () => {
  it('gets a sign-in page that names tenant, application and scopes, with login_hint (OIDC Core §3.1.2.1)', async () => {
    const { next } = await newPerson(world).start({ login_hint: 'ada@people.example' });
    expect(next.case).toBe('interaction');
    expect(next.value).toMatchObject({
      tenantId: 'acme',
      tenantName: 'ACME',
      clientId: 'acme-web',
      applicationName: 'ACME-WEB',
      loginHint: 'ada@people.example',
      scopes: ['openid', 'profile', 'orders.read'],
    });
    expect(next.value).toHaveProperty('interactionId', expect.stringMatching(/^ti_[\w-]{43}$/));
  });

  it('has its scopes stored once each, and a request that takes more than 24 KiB refused (DOS-8)', async () => {
    const repeated = Array<string>(500).fill('openid').join(' ');
    const { next } = await newPerson(world).start({ scope: repeated, state: 's'.repeat(8192) });
    expect(next.value).toMatchObject({ scopes: ['openid'] });
    await expect(newPerson(world).start({ state: '\u20ac'.repeat(8192) })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/too long.*Shorten state/) as string,
    });
  });

  it('is refused while its address has as many requests waiting as it may, and others are served (DOS-8)', async () => {
    const small = await createWorld({
      beside: world,
      config: { TESSERA_AUTHORIZATION_PENDING_PER_ADDRESS: 3 },
    });
    const from = async (ipAddress: string) => {
      const person = newPerson(small);
      person.ipAddress = ipAddress;
      return (await person.start()).next.case;
    };
    const all = await Promise.allSettled(Array.from({ length: 30 }, () => from('203.0.113.200')));
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    await expect(from('203.0.113.200')).rejects.toMatchObject({ code: 'rate_limited' });
    expect(await from('203.0.113.201')).toBe('interaction');
    await small.service.close();
  });

  it('gets login_required for prompt=none, with state and iss (OIDC Core §3.1.2.6, RFC 9207 §2)', async () => {
    const answer = await newPerson(world).redirect({ prompt: 'none' });
    expect(Object.fromEntries(answer)).toMatchObject({ error: 'login_required', state: 'xyz', iss: issuer });
  });

  it('is rejected without a browser identifier: a visit is always bound (login CSRF)', async () => {
    const person = newPerson(world);
    person.browserId = '';
    await expect(person.start()).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it.each(['ts_', 'ts_short', 'x', `tc_${'a'.repeat(43)}`, `ts_${'a'.repeat(43)}`, `ts_${'a'.repeat(44)}`])(
    'is anonymous with the session value %s (forged cookies)',
    async (token) => {
      const person = newPerson(world);
      person.sessionToken = token;
      expect((await person.start()).next.case).toBe('interaction');
    },
  );
});

describe('response_mode=form_post (OAuth 2.0 Form Post Response Mode)', () => {
  const mode = { response_mode: 'form_post' };
  const formOf = async (person: Person, difference: Record<string, string>) => {
    const { next } = await person.start({ ...mode, ...difference });
    return next.case === 'redirect' ? next.value.formPost : undefined;
  };

  it('makes a form of a code, at sign-in and with a session, and of an error', async () => {
    const person = newPerson(world);
    const { outcome } = await person.submit(await person.interaction({ ...mode, state: 's' }));
    if (outcome.case !== 'signedIn') throw new Error(`not signed in but ${outcome.case}`);
    expect(outcome.value.redirect?.formPost).toMatchObject({
      uri: web.redirectUri,
      clientId: 'acme-web',
      parameters: { code: expect.stringMatching(/^tc_/) as string, state: 's', iss: issuer },
    });
    person.sessionToken = outcome.value.session?.sessionToken ?? '';
    expect((await formOf(person, {}))?.parameters).toHaveProperty('code');
    expect(await formOf(newPerson(world), { prompt: 'none' })).toMatchObject({
      uri: web.redirectUri,
      clientId: 'acme-web',
      parameters: { error: 'login_required', state: 'xyz', iss: issuer },
    });
    expect((await formOf(person, { scope: 'nonsense' }))?.parameters).toMatchObject({
      error: 'invalid_scope',
    });
  });

  it('is taken from a refused request object, and state too (OIDC Core §6.1)', async () => {
    const payload = { response_mode: 'form_post', state: 'inner' };
    const request = `e30.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.`;
    const { next } = await newPerson(world).start({ request, state: '' });
    expect(next.case === 'redirect' ? next.value.formPost?.parameters : undefined).toMatchObject({
      error: 'request_not_supported',
      state: 'inner',
    });
    expect((await newPerson(world).redirect({ request: 'e30.W10.', state: '' })).has('state')).toBe(false);
    expect((await newPerson(world).redirect({ request: 'no.object' })).get('state')).toBe('xyz');
  });

  it('is refused in the query of a private-use URI scheme, whose app gets no body (RFC 8252 §7.1)', async () => {
    const app = 'com.example.app:/cb';
    await world.directory.changeApplication('acme-spa', { redirectUris: [spa.redirect_uri, app] });
    const { next } = await newPerson(world).start({ ...spa, ...mode, redirect_uri: app });
    const { location, formPost } = next.case === 'redirect' ? next.value : {};
    expect(formPost).toBeUndefined();
    expect(location).toMatch(/^com\.example\.app:\/cb\?error=invalid_request&.*Use\+response_mode%3Dquery/);
  });
});

describe('the port of a loopback redirect URI', () => {
  const at = (port: string) => ({ ...spa, redirect_uri: `http://127.0.0.1${port}/cb`, prompt: 'none' });

  it('must be the registered one by default, and may be any with loopbackPorts: any (RFC 8252 §7.3)', async () => {
    const redirectUris = [spa.redirect_uri, 'http://127.0.0.1/cb'];
    await world.directory.changeApplication('acme-spa', { redirectUris });
    await expect(newPerson(world).start(at(':49152'))).rejects.toThrow(
      'The redirect_uri is not registered for this client.',
    );
    await world.directory.changeApplication('acme-spa', { redirectUris, anyLoopbackPort: true });
    for (const port of ['', ':49152']) {
      const { next } = await newPerson(world).start(at(port));
      const location = next.case === 'redirect' ? next.value.location : '';
      expect(location).toMatch(new RegExp(`^http://127\\.0\\.0\\.1${port}/cb\\?error=login_required&`));
    }
    await expect(
      newPerson(world).start({ ...spa, redirect_uri: 'https://spa.example:1/cb' }),
    ).rejects.toThrow('The redirect_uri is not registered for this client.');
    await world.directory.changeApplication('acme-spa', {
      redirectUris: [spa.redirect_uri],
      anyLoopbackPort: false,
    });
  });
});

describe('scopes that are unknown or not granted to the application', () => {
  const scope = 'openid nonsense profile phone tokens.introspect';

  it('refuse the request by default (RFC 6749 §4.1.2.1)', async () => {
    expect((await newPerson(world).redirect({ scope })).get('error')).toBe('invalid_scope');
  });

  it('are left out with TESSERA_UNKNOWN_SCOPES=ignore, also of the code (OIDC Core §3.1.2.1)', async () => {
    const lenient = await createWorld({ beside: world, config: { TESSERA_UNKNOWN_SCOPES: 'ignore' } });
    const person = newPerson(lenient);
    const { userGrant: grant } = await lenient.token.redeemCode(redemption(await person.signIn({ scope })));
    expect(grant?.scopes).toEqual(['openid', 'profile']);
    const malformed = await person.redirect({ scope: 'openid "' });
    expect(malformed.get('error')).toBe('invalid_scope');
    expect((await person.redirect({ scope: 'nonsense' })).get('error')).toBe('invalid_scope');
    await lenient.service.close();
  });
});

describe('the claims parameter (OIDC Core §5.5)', () => {
  const asking = (claims: object) => ({ claims: JSON.stringify(claims) });
  const grantFor = async (person: Person, difference: Record<string, string>) =>
    (await world.token.redeemCode(redemption(await person.signIn(difference)))).userGrant;

  it('reaches the code, as far as the scopes of the application entitle it', async () => {
    const claims = asking({
      userinfo: { name: { essential: true }, phone_number: null, unknown: null },
      id_token: { email: null },
    });
    expect(await grantFor(newPerson(world), { ...claims, scope: 'openid' })).toMatchObject({
      userinfoClaims: ['name'],
      idTokenClaims: ['email'],
    });
    expect(await grantFor(newPerson(world), { ...claims, scope: 'profile' })).toMatchObject({
      userinfoClaims: [],
      idTokenClaims: [],
    });
  });

  it('goes back to the client if it is malformed, or too long', async () => {
    const answer = await newPerson(world).redirect({ claims: '{"userinfo":[]}' });
    expect([answer.get('error'), answer.get('state')]).toEqual(['invalid_request', 'xyz']);
    const long = await newPerson(world).redirect({ claims: ' '.repeat(2049) });
    expect([long.get('error'), long.get('state')]).toEqual(['invalid_request', 'xyz']);
  });

  it('accepts only the person of a requested sub (§5.5.1)', async () => {
    const person = newPerson(world);
    await person.signIn();
    const ada = asking({ id_token: { sub: { value: 'acme-ada' } } });
    const bob = asking({ id_token: { sub: { value: 'acme-bob' } } });
    expect((await person.redirect({ ...ada, prompt: 'none' })).has('code')).toBe(true);
    expect((await person.redirect({ ...bob, prompt: 'none' })).get('error')).toBe('login_required');
    const { outcome } = await person.submit(await person.interaction(bob));
    const location = outcome.case === 'signedIn' ? outcome.value.redirect?.location : '';
    expect(new URL(location ?? '').searchParams.get('error')).toBe('login_required');
  });

  it('fails for an essential acr that no sign-in here has (§5.5.1.1)', async () => {
    const claims = asking({ id_token: { acr: { essential: true, values: ['phr'] } } });
    expect((await newPerson(world).redirect(claims)).get('error')).toBe('access_denied');
  });
});

describe('optional parameters of OIDC Core §3.1.2.1', () => {
  it.each([
    { display: 'popup' },
    { display: 'unknown' },
    { ui_locales: 'sv en' },
    { claims_locales: 'sv' },
    { acr_values: '1 2' },
    { login_hint: 'somebody else' },
    { max_age: '3600' },
    { prompt: 'consent' },
    { made_up: 'x' },
  ])('are accepted or ignored: %j', async (parameters) => {
    const person = newPerson(world);
    await person.signIn(parameters);
    expect((await person.redirect(parameters)).has('code')).toBe(true);
  });
});

describe('single sign-on within a tenant', () => {
  it('issues a code at once, with state and iss, also to another application (OIDC Core §3.1.2.5)', async () => {
    const person = newPerson(world);
    await person.signIn();
    const answer = await person.redirect({ ...spa, state: 's 2' });
    expect(answer.get('code')).toMatch(/^tc_[\w-]{43}$/);
    expect([answer.get('state'), answer.get('iss')]).toEqual(['s 2', issuer]);
  });

  it('answers prompt=none and prompt=consent with a code (OIDC Core §3.1.2.1)', async () => {
    const person = newPerson(world);
    await person.signIn();
    expect((await person.redirect({ prompt: 'none' })).has('code')).toBe(true);
    expect((await person.redirect({ prompt: 'consent' })).has('code')).toBe(true);
  });

  it.each(['login', 'select_account', 'login consent'])(
    'asks again for prompt=%s (OIDC Core §3.1.2.1)',
    async (prompt) => {
      const person = newPerson(world);
      await person.signIn();
      expect((await person.start({ prompt })).next.case).toBe('interaction');
    },
  );

  it('asks for a new sign-in if the last one is older than max_age, and returns an error with prompt=none (OIDC Core §3.1.2.1)', async () => {
    const person = newPerson(world);
    await person.signIn();
    await age(100);
    expect((await person.redirect({ max_age: '200' })).has('code')).toBe(true);
    expect((await person.start({ max_age: '90' })).next.case).toBe('interaction');
    expect((await person.start({ max_age: '0' })).next.case).toBe('interaction');
    expect((await person.redirect({ max_age: '90', prompt: 'none' })).get('error')).toBe('login_required');

    async function age(seconds: number): Promise<void> {
      await world.database.query({
        name: 'test.age_sign_in',
        text: `UPDATE authorize.session SET auth_time = auth_time - make_interval(secs => $1)
          WHERE ip_address = $2`,
        values: [seconds, person.ipAddress],
      });
    }
  });

  it('costs one statement and one script, with warm caches', async () => {
    const person = newPerson(world);
    await person.signIn();
    await person.redirect();
    world.database.reset();
    world.redis.reset();
    await person.redirect();
    expect(world.database.names.filter((name) => name.startsWith('authorize.'))).toEqual([
      'authorize.find_session',
    ]);
    expect(world.redis.names).toEqual(['authorize.save_code']);
  });

  it.each([Status.DISABLED, Status.LOCKED])(
    'does not serve a person whose status became %s, nor anyone else (checked again at every issue)',
    async (status) => {
      const person = newPerson(world);
      await person.signIn({}, { identifier: 'bob' });
      await world.directory.changeUser('acme-bob', { status });
      try {
        expect((await person.start()).next.case).toBe('interaction');
        expect((await person.redirect({ prompt: 'none' })).get('error')).toBe('login_required');
      } finally {
        await world.directory.changeUser('acme-bob', { status: Status.ACTIVE });
      }
    },
  );
});

describe('a session from before a change', () => {
  const nextSecond = () => BigInt(Math.floor(Date.now() / 1000) + 1);

  it('is no longer used after a password change, and a sign-in after it counts, even in the same second (ASVS 7.4.3)', async () => {
    const [before, after] = [newPerson(world), newPerson(world)];
    await before.signIn({}, { identifier: 'bob' });
    await world.directory.changeUser('acme-bob', { password: 'a new one', validFrom: nextSecond() });
    try {
      expect((await before.start()).next.case).toBe('interaction');
      expect((await before.redirect({ prompt: 'none' })).get('error')).toBe('login_required');
      expect((await world.gateway.getSession({ browser: before.context() })).session).toBeUndefined();
      await after.signIn({}, { identifier: 'bob', password: 'a new one' });
      expect((await after.redirect({ prompt: 'none' })).has('code')).toBe(true);
      const { session } = await world.gateway.getSession({ browser: after.context() });
      expect(session?.userId).toBe('acme-bob');
    } finally {
      await world.directory.changeUser('acme-bob', { password, validFrom: 0n });
    }
  });

  it('requires a new sign-in for an application that was disabled and enabled, and for no other (REF-7)', async () => {
    const person = newPerson(world);
    const spa = { client_id: 'acme-spa', redirect_uri: 'https://spa.example/cb' };
    await person.signIn();
    await world.directory.changeApplication('acme-spa', { validFrom: nextSecond() });
    try {
      expect((await person.redirect({ prompt: 'none' })).has('code')).toBe(true);
      expect((await person.redirect({ ...spa, prompt: 'none' })).get('error')).toBe('login_required');
      await person.signIn(spa);
      expect((await person.redirect({ ...spa, prompt: 'none' })).has('code')).toBe(true);
    } finally {
      await world.directory.changeApplication('acme-spa', { validFrom: 0n });
    }
  });
});

describe('an application for some roles', () => {
  const denied = { error: 'access_denied', state: 'xyz', iss: issuer };
  const answerOf = async (person: Person, difference = {}) =>
    Object.fromEntries(await person.redirect({ ...spa, ...difference }));

  beforeAll(() => world.directory.changeApplication('acme-spa', { allowedRoles: ['clerk', 'manager'] }));
  afterAll(() => world.directory.changeApplication('acme-spa', { allowedRoles: [] }));

  it('returns access_denied to single sign-on without one of them, with state and iss (DEV-2, RFC 6749 §4.1.2.1, RFC 9207 §2)', async () => {
    const person = newPerson(world);
    await person.signIn({}, { identifier: 'bob' });
    for (const prompt of [undefined, 'none', 'consent']) {
      expect(await answerOf(person, { prompt })).toMatchObject(denied);
    }
    expect(await answerOf(person)).not.toHaveProperty('code');
    expect((await person.redirect({ prompt: 'none' })).has('code')).toBe(true);
    await waitFor(async () => {
      const rows = await world.audited('authorize.rejected');
      expect(rows.findLast(({ reason }) => reason === 'role_missing')).toMatchObject({
        tenantId: 'acme',
        clientId: 'acme-spa',
        subject: 'acme-bob',
        sessionId: expect.stringMatching(/^[\w-]{22}$/) as string,
        details: { phase: 'access' },
      });
    });
  });

  it('lets another person sign in if the client asks for it', async () => {
    const person = newPerson(world);
    expect(await answerOf(person, { prompt: 'none' })).toMatchObject({ error: 'login_required' });
    await person.signIn({}, { identifier: 'bob' });
    for (const prompt of ['login', 'select_account']) {
      expect((await person.start({ ...spa, prompt })).next.case).toBe('interaction');
    }
  });

  it('follows changes of the roles of the person and the application within the session (DEV-2)', async () => {
    const person = newPerson(world);
    await person.signIn({}, { identifier: 'bob' });
    await world.directory.changeUser('acme-bob', { roles: ['driver', 'manager'] });
    expect(await answerOf(person)).toHaveProperty('code');
    await world.directory.changeApplication('acme-spa', { allowedRoles: ['clerk'] });
    expect(await answerOf(person)).toMatchObject(denied);
    await world.directory.changeApplication('acme-spa', { allowedRoles: ['clerk', 'manager'] });
    expect(await answerOf(person)).toHaveProperty('code');
    await world.directory.changeUser('acme-bob', { roles: [] });
    expect(await answerOf(person)).toMatchObject(denied);
  });
});

/** The rows of the one request of a person to another tenant; rows are written together with those of others. */
async function mismatchesOf({ ipAddress }: Person) {
  const rows = new Map<unknown, Record<string, unknown>>();
  await waitFor(async () => {
    for (const row of await world.audited('authorize.tenant_mismatch', 0))
      if (row['ipAddress'] === ipAddress) rows.set(row['tenantId'], row);
    expect(new Set(rows.keys())).toEqual(new Set(['acme', 'umbra']));
  });
  return { asked: rows.get('umbra') ?? {}, signedIn: rows.get('acme') ?? {} };
}

describe('a session of another tenant', () => {
  it.each([{}, { prompt: 'none' }, { prompt: 'login' }])(
    'is neither used nor replaced, whatever prompt says (contract, GET /authorize; %j)',
    async (difference) => {
      const person = newPerson(world);
      await person.signIn();
      const { next } = await person.start({ ...umbra, ...difference });
      expect(next.case).toBe('tenantMismatch');
      expect(next.value).toMatchObject({ interaction: { tenantId: 'umbra', clientId: 'umbra-web' } });
      expect((await person.redirect()).has('code')).toBe(true);
    },
  );

  it('is audited in both tenants', async () => {
    const person = newPerson(world);
    await person.signIn();
    await person.start(umbra);
    const { asked, signedIn } = await mismatchesOf(person);
    expect(asked).toMatchObject({ clientId: 'umbra-web' });
    expect(signedIn).toMatchObject({ subject: 'acme-ada', requestId: asked['requestId'] });
  });

  it('tells the administrators of neither tenant of the other, as they read the rows of theirs', async () => {
    const person = newPerson(world);
    await person.signIn();
    const { session } = await world.gateway.getSession({ browser: person.context() });
    await person.start(umbra);
    const { asked, signedIn } = await mismatchesOf(person);
    for (const known of ['acme', session?.sessionId ?? ''])
      expect(JSON.stringify(asked)).not.toContain(known);
    expect(JSON.stringify(signedIn)).not.toContain('umbra');
  });

  it('treats one address in two tenants as two people', async () => {
    const [here, there] = [newPerson(world), newPerson(world)];
    const identifier = 'ada@people.example';
    const acme = await world.token.redeemCode(redemption(await here.signIn({}, { identifier })));
    const code = await there.signIn(umbra, { identifier });
    const other = await world.token.redeemCode(
      redemption(code, { clientId: 'umbra-web', tenantId: 'umbra', redirectUri: umbra.redirect_uri }),
    );
    expect([acme.userGrant?.userId, other.userGrant?.userId]).toEqual(['acme-ada', 'umbra-ada']);
    expect([acme.userGrant?.tenantId, other.userGrant?.tenantId]).toEqual(['acme', 'umbra']);
  });
});

describe('reading the session', () => {
  it('names the signed-in person until the person is disabled', async () => {
    const person = newPerson(world);
    await person.signIn({}, { identifier: 'bob' });
    const { session } = await world.gateway.getSession({ browser: person.context() });
    expect(session).toMatchObject({ tenantId: 'acme', userId: 'acme-bob', username: 'bob', name: 'BOB' });
    expect(session?.sessionId).toMatch(/^[\w-]{22}$/);
    expect(person.sessionToken).not.toContain(session?.sessionId);
    await world.directory.changeUser('acme-bob', { status: Status.DISABLED });
    const gone = await world.gateway.getSession({ browser: person.context() });
    await world.directory.changeUser('acme-bob', { status: Status.ACTIVE });
    expect(gone.session).toBeUndefined();
    expect((await world.gateway.getSession({ browser: newPerson(world).context() })).session).toBeUndefined();
  });
});

describe('response_mode=fragment (OAuth 2.0 Multiple Response Types §2.1)', () => {
  const locationOf = async (difference: Record<string, string>) => {
    const { next } = await newPerson(world).start({ response_mode: 'fragment', ...difference });
    return next.case === 'redirect' ? next.value.location : '';
  };

  it('has errors of public applications in the fragment', async () => {
    expect(await locationOf({ ...spa, prompt: 'none' })).toMatch(
      /^https:\/\/spa\.example\/cb#error=login_required&/,
    );
  });

  it('is refused in the query of a confidential application, whose server never sees a fragment', async () => {
    await world.directory.changeApplication('acme-web', { type: ApplicationType.CONFIDENTIAL });
    expect(await locationOf({})).toMatch(/\?error=invalid_request&[^#]*fragment[^#]*$/);
  });
});
