import { passkeyAnswer } from '@tessera/directory-client/testing';
import { temporarilyUnavailable } from '@tessera/oauth';
import { OwnPage_Name, type Step } from '@tessera/proto-gen/authorize';
import { Status } from '@tessera/proto-gen/directory';
import type { RedisHandle } from '@tessera/stores';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeOf, newPerson, redemption, type Person } from '../../testing/visitor.ts';
import { createWorld, password, request, type World } from '../../testing/world.ts';
import { ceremonyOf } from './ceremony.ts';

let world: World;
let count = 0;
beforeAll(async () => {
  world = await createWorld({ config: { TESSERA_ISSUER: 'https://id.example' } });
  world.directory.addTenant('strict', { authenticationPolicy: 'second-factor' });
  world.directory.addTenant('resistant', { authenticationPolicy: 'phishing-resistant' });
  const application = world.directory.applications.get('acme-web');
  for (const tenantId of ['strict', 'resistant'])
    world.directory.addApplication(`${tenantId}-web`, {
      ...application,
      clientId: `${tenantId}-web`,
      tenantId,
    });
});
afterAll(() => world.service.close());

const resistant = { client_id: 'resistant-web' };

const strict = { client_id: 'strict-web' };
type Next = Awaited<ReturnType<typeof send>>;

/** Somebody new. */
function account(
  tenantId: string,
  fields: {
    hasPasskey?: boolean;
    makesPasskeysAlone?: boolean;
    totpCode?: string;
    password?: string;
  } = {},
) {
  const username = `eve${(count += 1)}`;
  const userId = `${tenantId}-${username}`;
  world.directory.addUser(userId, { tenantId, username, password, ...fields });
  return { username, userId };
}

async function start(
  person: Person,
  difference: Record<string, string> = {},
  issuer = person.context().issuer,
) {
  const browser = { ...person.context(), issuer };
  const visit = { case: 'request', value: { parameters: request(difference) } } as const;
  return stepOf((await world.gateway.begin({ browser, visit })).next?.next);
}

async function send(person: Person, step: Step, name: string, fields: Record<string, string>) {
  const visit = { case: 'interactionId', value: step.interaction?.interactionId ?? '' } as const;
  const browser = person.context();
  const { next, session } = await world.gateway.continue({ browser, visit, step: name, fields });
  if (session !== undefined) person.sessionToken = session.sessionToken;
  return next?.next;
}

function stepOf(next: Next): Step {
  if (next?.case !== 'step') throw new Error(`no step but ${next?.case}`);
  return next.value;
}

/** What the browser answers to a page. */
function answerTo({ shown }: Step, userId: string) {
  const { challenge } = JSON.parse(shown['passkey_options'] ?? '{}') as { challenge: string };
  return { passkey: passkeyAnswer(userId, challenge), passkey_nonce: shown['passkey_nonce'] ?? '' };
}

const usePasskey = async (person: Person, step: Step, userId: string) =>
  send(person, step, 'passkey', answerTo(step, userId));

/** A store that has no room for another visit. */
const storingNoVisit = (redis: RedisHandle): RedisHandle => ({
  ...redis,
  script: (source) =>
    source.name === 'authorize.save_visit'
      ? async () => {
          throw temporarilyUnavailable('the store is full');
        }
      : redis.script(source),
});

async function methodsOf(next: Next, clientId = 'acme-web') {
  if (next?.case !== 'redirect') throw new Error(`no redirect but ${next?.case}`);
  const presented = { ...redemption(codeOf(next.value.location)), clientId, tenantId: clientId.slice(0, -4) };
  return (await world.token.redeemCode(presented)).userGrant?.authentication?.methods;
}

describe('a passkey on the first page', () => {
  it('signs in without a password, and counts as two factors (WebAuthn L3 §7.2, RFC 8176 §2)', async () => {
    const { userId } = account('acme', { hasPasskey: true, password: '', totpCode: '123123' });
    const person = newPerson(world);
    const page = await start(person, { acr_values: '2' });
    expect(page.name).toBe('password');
    expect(JSON.parse(page.shown['passkey_options'] ?? '')).toEqual({
      challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
      rpId: 'id.example',
      userVerification: 'required',
      allowCredentials: [],
    });
    expect(await methodsOf(await usePasskey(person, page, userId))).toEqual(['hwk', 'user', 'mfa']);
    const { session } = await world.gateway.getSession({ browser: person.context() });
    expect(session?.userId).toBe(userId);
  });

  it('is asked for in the same words whoever signs in, with a new challenge each time (WebAuthn L3 §14.6.2)', async () => {
    const { username } = account('acme', { hasPasskey: true });
    const challenges = new Set<unknown>();
    for (const login_hint of [username, 'nobody-at-all', '']) {
      const { shown } = await start(newPerson(world), { login_hint });
      const { challenge, ...rest } = JSON.parse(shown['passkey_options'] ?? '') as Record<string, unknown>;
      challenges.add(challenge);
      expect(rest).toEqual({ rpId: 'id.example', userVerification: 'required', allowCredentials: [] });
    }
    expect(challenges.size).toBe(3);
  });

  it('answers its own visit alone, and once (WebAuthn L3 §13.4.3)', async () => {
    const { userId } = account('acme', { hasPasskey: true });
    const [person, other] = [newPerson(world), newPerson(world)];
    const [page, foreign] = [await start(person), await start(other)];
    const crossed = stepOf(await send(other, foreign, 'passkey', answerTo(page, userId)));
    expect(crossed).toMatchObject({ name: 'password', problem: 'wrong_passkey' });
    expect((await usePasskey(person, page, userId))?.case).toBe('redirect');
    const again = stepOf(await usePasskey(person, page, userId));
    expect(again).toMatchObject({ name: 'password', problem: 'wrong_passkey' });
    expect((await usePasskey(person, again, userId))?.case, 'the page asks anew').toBe('redirect');
  });

  it('is refused without a word about why: unknown, disabled, of another tenant, and without an answer', async () => {
    const known = account('acme', { hasPasskey: true });
    const disabled = account('acme', { hasPasskey: true });
    await world.directory.changeUser(disabled.userId, { status: Status.DISABLED });
    const foreign = account('umbra', { hasPasskey: true });
    for (const userId of ['nobody', disabled.userId, foreign.userId, account('acme').userId]) {
      const person = newPerson(world);
      const refused = stepOf(await usePasskey(person, await start(person), userId));
      expect(refused).toMatchObject({ name: 'password', problem: 'wrong_passkey' });
    }
    const [{ subject, reason } = {}] = await world.audited('auth.login.failed');
    expect([subject, reason]).toEqual([undefined, 'wrong_credentials']);
    const person = newPerson(world);
    const page = await start(person);
    for (const fields of [
      {},
      { passkey: '{}' },
      { ...answerTo(page, known.userId), passkey_nonce: 'a'.repeat(65) },
    ])
      expect(stepOf(await send(person, page, 'passkey', fields)).problem).toBe('wrong_passkey');
  });

  it.each([
    ['own', 'login.moved.example'],
    ['shared', 'id.example'],
  ])(
    'at a tenant’s own issuer it is for the host that the tenant says: %s (WebAuthn L3 §5.11)',
    async (passkeyDomain, rpId) => {
      const issuer = 'https://login.moved.example';
      world.directory.addTenant(`moved-${passkeyDomain}`, { issuer, passkeyDomain });
      const person = newPerson(world);
      const browser = { ...person.context(), issuer, tenantId: `moved-${passkeyDomain}` };
      const visit = {
        case: 'page',
        value: { name: OwnPage_Name.APPROVALS, tenantId: browser.tenantId },
      } as const;
      const { shown } = stepOf((await world.gateway.begin({ browser, visit })).next?.next);
      expect(JSON.parse(shown['passkey_options'] ?? '')).toMatchObject({ rpId });
    },
  );

  it('is not offered where browsers have none: at an address, and without TLS (WebAuthn L3 §5.1.2, §13.4.9)', async () => {
    const has = (issuer: string) => ceremonyOf({ issuer, seed: 'a-seed' }, '', 'get', 'a-nonce');
    expect(has('https://id.example:8443/t/acme')).toMatchObject({
      rpId: 'id.example',
      origin: 'https://id.example:8443',
    });
    for (const issuer of ['http://localhost:8080', 'http://acme.localhost'])
      expect(has(issuer)).toBeDefined();
    for (const issuer of [
      'http://id.example',
      'https://192.0.2.1',
      'https://[2001:db8::1]',
      'http://127.0.0.1',
      '',
    ])
      expect(has(issuer)).toBeUndefined();
    expect((await start(newPerson(world), {}, 'http://127.0.0.1:8080')).shown).not.toHaveProperty(
      'passkey_options',
    );
  });
});

describe('a passkey after the password', () => {
  it('takes the place of the code of an app', async () => {
    const { username: identifier, userId } = account('acme', { hasPasskey: true, totpCode: '654321' });
    const person = newPerson(world);
    const code = stepOf(await send(person, await start(person), 'password', { identifier, password }));
    expect(code.name).toBe('totp');
    const other = account('acme', { hasPasskey: true });
    const wrong = stepOf(await usePasskey(person, code, other.userId));
    expect(wrong).toMatchObject({ name: 'totp', problem: 'wrong_passkey' });
    expect(await methodsOf(await usePasskey(person, wrong, userId))).toEqual(['pwd', 'hwk', 'user', 'mfa']);
  });

  it('is not named to who has an app alone', async () => {
    const { username: identifier } = account('acme', { totpCode: '654321' });
    const person = newPerson(world);
    const code = stepOf(await send(person, await start(person), 'password', { identifier, password }));
    expect(code.shown).toEqual({});
  });

  it('is the second factor of who has no app: a password alone sets up none in its place', async () => {
    const { username: identifier, userId } = account('strict', { hasPasskey: true });
    const person = newPerson(world);
    const page = stepOf(
      await send(person, await start(person, strict), 'password', { identifier, password }),
    );
    expect(page.name).toBe('passkey');
    const skipped = stepOf(await send(person, page, 'totp_enrolment', { enrolment_code: '123456' }));
    expect(skipped.name).toBe('passkey');
    const done = await usePasskey(person, skipped, userId);
    expect(await methodsOf(done, 'strict-web')).toEqual(['pwd', 'hwk', 'user', 'mfa']);
  });

  it('is not asked for where a password is enough, so that a lost device locks nobody out', async () => {
    const { username: identifier } = account('acme', { hasPasskey: true });
    const person = newPerson(world);
    const done = await send(person, await start(person), 'password', { identifier, password });
    expect(await methodsOf(done)).toEqual(['pwd']);
  });
});

describe('a new passkey', () => {
  const passkeys = 'make';

  it('is offered after a password, once, to who can make one, and counts at once (WebAuthn L3 §7.1)', async () => {
    const { username: identifier, userId } = account('acme');
    const person = newPerson(world);
    const offer = stepOf(
      await send(person, await start(person), 'password', { identifier, password, passkeys }),
    );
    expect(offer.name).toBe('passkey_enrolment');
    expect(person.sessionToken).toBe('');
    const cancelled = stepOf(await send(person, offer, 'passkey_enrolment', { passkey_created: '' }));
    expect(cancelled).toMatchObject({ name: 'passkey_enrolment', problem: 'no_passkey' });
    const { passkey, ...rest } = answerTo(cancelled, userId);
    const stale = { passkey_created: answerTo(offer, userId).passkey, ...rest };
    expect(stepOf(await send(person, offer, 'passkey_enrolment', stale)).problem).toBe('no_passkey');
    const done = await send(person, offer, 'passkey_enrolment', { passkey_created: passkey, ...rest });
    expect(await methodsOf(done)).toEqual(['pwd', 'swk', 'user', 'mfa']);
    const later = newPerson(world);
    expect((await usePasskey(later, await start(later), userId))?.case).toBe('redirect');
  });

  it('proves nothing if the browser made it alone, and is no such one where one is needed (§5.1.3)', async () => {
    const { username: identifier, userId } = account('acme', { makesPasskeysAlone: true });
    const person = newPerson(world);
    const offer = stepOf(
      await send(person, await start(person), 'password', { identifier, password, passkeys }),
    );
    const made = (step: Step, of: string) => {
      const { passkey: passkey_created, ...rest } = answerTo(step, of);
      return { passkey_created, ...rest };
    };
    expect(await methodsOf(await send(person, offer, 'passkey_enrolment', made(offer, userId)))).toEqual([
      'pwd',
    ]);
    const later = newPerson(world);
    expect((await usePasskey(later, await start(later), userId))?.case).toBe('redirect');
    const needed = account('resistant', { makesPasskeysAlone: true });
    const other = newPerson(world);
    const sent = { identifier: needed.username, password, passkeys };
    const page = stepOf(await send(other, await start(other, resistant), 'password', sent));
    expect(page.shown['passkey_required']).toBe('yes');
    const done = await send(other, page, 'passkey_enrolment', made(page, needed.userId));
    expect(await methodsOf(done, 'resistant-web')).toContain('mfa');
  });

  it('can be put off, and is not offered in a session, after a passkey, or to a browser that makes none', async () => {
    const { username: identifier, userId } = account('acme');
    const person = newPerson(world);
    const page = await start(person);
    const offer = stepOf(await send(person, page, 'password', { identifier, password, passkeys }));
    const done = await send(person, offer, 'passkey_enrolment', { passkey_later: 'yes' });
    expect(await methodsOf(done)).toEqual(['pwd']);
    const browser = person.context();
    const visit = { case: 'request', value: { parameters: request() } } as const;
    expect((await world.gateway.begin({ browser, visit })).next?.next.case).toBe('redirect');
    await world.directory.changeUser(userId, { hasPasskey: true });
    const other = newPerson(world);
    const first = await start(other);
    expect((await send(other, first, 'passkey', { ...answerTo(first, userId), passkeys }))?.case).toBe(
      'redirect',
    );
    const plain = newPerson(world);
    expect((await send(plain, await start(plain), 'password', { identifier, password }))?.case).toBe(
      'redirect',
    );
  });

  it('is nothing that a password alone makes beside a factor, for which it would stand from then on (CVE-2026-3429)', async () => {
    const { username: identifier, userId } = account('acme', { hasPasskey: true });
    const person = newPerson(world);
    const page = await start(person);
    const done = await send(person, page, 'password', { identifier, password, passkeys });
    expect(await methodsOf(done)).toEqual(['pwd']);
    const stepUp = await start(person, { acr_values: '3' });
    expect(stepUp.name).toBe('passkey');
    const { passkey: passkey_created, passkey_nonce } = answerTo(stepUp, userId);
    const forced = await send(person, stepUp, 'passkey_enrolment', { passkey_created, passkey_nonce });
    expect(stepOf(forced)).toMatchObject({ name: 'passkey', problem: '' });

    const app = account('acme', { totpCode: '654321' });
    const other = newPerson(world);
    const sent = { identifier: app.username, password, passkeys };
    const code = stepOf(await send(other, await start(other), 'password', sent));
    expect(code.name).toBe('totp');
    const offer = stepOf(await send(other, code, 'totp', { totp_code: '654321' }));
    expect(offer.name, 'after the code it is offered').toBe('passkey_enrolment');
  });

  it('is nothing that a visit can make whose password was changed since', async () => {
    const { username: identifier, userId } = account('acme');
    const person = newPerson(world);
    const page = await start(person);
    const offer = stepOf(await send(person, page, 'password', { identifier, password, passkeys }));
    await world.directory.changeUser(userId, { validFrom: BigInt(Math.floor(Date.now() / 1000) + 60) });
    const { passkey: passkey_created, passkey_nonce } = answerTo(offer, userId);
    const sent = send(person, offer, 'passkey_enrolment', { passkey_created, passkey_nonce });
    await expect(sent).rejects.toMatchObject({ code: 'invalid_request' });
    expect(world.directory.users.get(`acme ${userId}`)?.hasPasskey).toBeUndefined();
  });
});

describe('where nothing but a passkey is accepted', () => {
  const passkeys = '';

  it('a password leads to it, and an app is neither asked for nor set up', async () => {
    const { username: identifier, userId } = account('resistant', { hasPasskey: true, totpCode: '654321' });
    const person = newPerson(world);
    const page = stepOf(
      await send(person, await start(person, resistant), 'password', { identifier, password }),
    );
    expect(page.name).toBe('passkey');
    const done = await usePasskey(person, page, userId);
    expect(await methodsOf(done, 'resistant-web')).toEqual(['pwd', 'hwk', 'user', 'mfa']);
  });

  it('who has none makes one on the way, and cannot put it off', async () => {
    const { username: identifier, userId } = account('resistant');
    const person = newPerson(world);
    const first = await start(person, resistant);
    const page = stepOf(await send(person, first, 'password', { identifier, password, passkeys }));
    expect(page).toMatchObject({ name: 'passkey_enrolment', shown: { passkey_required: 'yes' } });
    const again = stepOf(await send(person, page, 'passkey_enrolment', { passkey_later: 'yes' }));
    expect(again).toMatchObject({ name: 'passkey_enrolment', problem: 'no_passkey' });
    const { passkey: passkey_created, passkey_nonce } = answerTo(again, userId);
    const done = await send(person, again, 'passkey_enrolment', { passkey_created, passkey_nonce });
    expect(await methodsOf(done, 'resistant-web')).toEqual(['pwd', 'swk', 'user', 'mfa']);
  });

  it.each(['tenant', 'application'])(
    'a policy of a later version, of the %s, is such a place too',
    async (whose) => {
      const later = { authenticationPolicy: 'of a later version' };
      const tenantId = `later-${whose}`;
      world.directory.addTenant(tenantId, whose === 'tenant' ? later : {});
      const application = world.directory.applications.get('acme-web');
      const client_id = `${tenantId}-web`;
      const ofApplication = whose === 'application' ? later : {};
      world.directory.addApplication(client_id, {
        ...application,
        clientId: client_id,
        tenantId,
        ...ofApplication,
      });
      const { username: identifier, userId } = account(tenantId, { hasPasskey: true, totpCode: '654321' });
      const person = newPerson(world);
      const first = await start(person, { client_id });
      const page = await send(person, first, 'password', { identifier, password, passkeys });
      expect(stepOf(page).name).toBe('passkey');
      const done = await usePasskey(person, stepOf(page), userId);
      expect(await methodsOf(done, client_id)).toEqual(['pwd', 'hwk', 'user', 'mfa']);
    },
  );

  it('a session by a password counts for nothing at our own pages, even where browsers have no passkeys', async () => {
    const { username: identifier, userId } = account('resistant');
    world.directory.addTenant('resistant', { authenticationPolicy: 'any' });
    await world.directory.changeTenant('resistant', Status.ACTIVE);
    const person = newPerson(world);
    await send(person, await start(person, resistant), 'password', { identifier, password });
    const sessionAt = async (issuer: string) =>
      (await world.gateway.getSession({ browser: { ...person.context(), issuer } })).session?.userId;
    expect(await sessionAt('http://127.0.0.1')).toBe(userId);
    world.directory.addTenant('resistant', { authenticationPolicy: 'phishing-resistant' });
    await world.directory.changeTenant('resistant', Status.ACTIVE);
    for (const issuer of [person.context().issuer, 'http://127.0.0.1'])
      expect(await sessionAt(issuer)).toBeUndefined();
  });

  it('a code of an app is not enough, and a request asks for more than its tenant (RFC 9470 §4)', async () => {
    const { username: identifier, userId } = account('acme', { totpCode: '654321' });
    const person = newPerson(world);
    const first = await start(person);
    const code = stepOf(await send(person, first, 'password', { identifier, password }));
    expect((await send(person, code, 'totp', { totp_code: '654321' }))?.case).toBe('redirect');
    const browser = person.context();
    const asked = async (acr_values: string) => {
      const visit = { case: 'request', value: { parameters: request({ acr_values }) } } as const;
      return (await world.gateway.begin({ browser, visit })).next?.next;
    };
    for (const accepted of ['2', '3 2', '4'])
      expect((await asked(accepted))?.case, accepted).toBe('redirect');
    expect(stepOf(await asked('3')).name, 'a session sets up nothing').toBe('password');
    await world.directory.changeUser(userId, { hasPasskey: true });
    const stepUp = stepOf(await asked('3'));
    expect(stepUp.name).toBe('passkey');
    const done = await usePasskey(person, stepUp, userId);
    expect(await methodsOf(done)).toEqual(['pwd', 'otp', 'mfa', 'hwk', 'user']);
  });
});

describe('a passkey at a page of ours', () => {
  const page = { name: OwnPage_Name.APPROVALS, tenantId: 'acme' };
  const begun = async ({ gateway }: Pick<World, 'gateway'>, person: Person) => {
    const visit = { case: 'page', value: page } as const;
    return stepOf((await gateway.begin({ browser: person.context(), visit })).next?.next);
  };
  const begin = async (person: Person) => begun(world, person);

  it('signs in there too, so that approvals resist phishing', async () => {
    const { userId } = account('acme', { hasPasskey: true });
    const person = newPerson(world);
    const first = await begin(person);
    expect(first).toMatchObject({ name: 'password', shown: { passkey_nonce: expect.any(String) as string } });
    expect((await usePasskey(person, first, userId))?.case).toBe('done');
    const { session } = await world.gateway.getSession({ browser: person.context() });
    expect(session?.authentication?.methods).toEqual(['hwk', 'user', 'mfa']);
  });

  it('is not asked for where the visit cannot be kept; a password still signs in', async () => {
    const { username: identifier } = account('acme');
    const person = newPerson(world);
    const full = await createWorld({ beside: world, runtime: { redis: storingNoVisit(world.redis) } });
    const { shown, interaction } = await begun(full, person);
    await full.service.close();
    expect([shown['passkey_options'], interaction?.interactionId]).toEqual([undefined, '']);
    const fields = { identifier, password };
    const visit = { case: 'page', value: page } as const;
    const sent = { browser: person.context(), visit, step: 'password', fields };
    expect((await world.gateway.continue(sent)).next?.next.case).toBe('done');
  });
});
