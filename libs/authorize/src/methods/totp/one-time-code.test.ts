import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { OwnPage_Name, type Step } from '@tessera/proto-gen/authorize';
import { enrolmentCode } from '@tessera/directory-client/testing';
import { codeOf, newPerson, redemption, type Person } from '../../testing/visitor.ts';
import { createWorld, password, request, type World } from '../../testing/world.ts';

const limit = 4;
let world: World;
let count = 0;
beforeAll(async () => {
  world = await createWorld({ config: { TESSERA_LOGIN_FAILURES_PER_ACCOUNT: limit } });
  world.directory.addTenant('strict', { authenticationPolicy: 'second-factor' });
  const application = world.directory.applications.get('acme-web');
  world.directory.addApplication('strict-web', {
    ...application,
    clientId: 'strict-web',
    tenantId: 'strict',
  });
});
afterAll(() => world.service.close());

const app = '654321';
const strict = { client_id: 'strict-web' };

/** Somebody new; `totpCode` is what the app shows. */
function account(tenantId: string, totpCode?: string): string {
  const username = `eve${(count += 1)}`;
  const names = { tenantId, username, email: `${username}@people.example`, phoneNumber: '' };
  world.directory.addUser(`${tenantId}-${username}`, { ...names, password, ...(totpCode && { totpCode }) });
  return username;
}

async function start(person: Person, difference: Record<string, string> = {}) {
  const visit = { case: 'request', value: { parameters: request(difference) } } as const;
  return (await world.gateway.begin({ browser: person.context(), visit })).next?.next;
}

const page = { name: OwnPage_Name.APPROVALS, tenantId: 'strict' };

async function send(
  person: Person,
  interactionId: string,
  step: string,
  fields: Record<string, string>,
  to: { name: OwnPage_Name; tenantId: string; clientId?: string } = page,
) {
  const visit =
    interactionId === ''
      ? ({ case: 'page', value: to } as const)
      : ({ case: 'interactionId', value: interactionId } as const);
  const { next, session } = await world.gateway.continue({ browser: person.context(), visit, step, fields });
  if (session !== undefined) person.sessionToken = session.sessionToken;
  return next?.next;
}

function stepOf(next: Awaited<ReturnType<typeof send>>): Step {
  if (next?.case !== 'step') throw new Error(`no step but ${next?.case}`);
  return next.value;
}

const codesOf = ({ shown }: Step): string[] => shown['codes']?.split(' ') ?? [];
const idOf = (step: Step) => step.interaction?.interactionId ?? '';

/** From the request to the page after the password. */
async function afterPassword(person: Person, identifier: string, difference?: Record<string, string>) {
  const interactionId = idOf(stepOf(await start(person, difference)));
  return { interactionId, next: await send(person, interactionId, 'password', { identifier, password }) };
}

/** The methods in the grant of a code. */
async function methodsOf(next: Awaited<ReturnType<typeof send>>, clientId = 'acme-web') {
  if (next?.case !== 'redirect') throw new Error(`no redirect but ${next?.case}`);
  const presented = { ...redemption(codeOf(next.value.location)), clientId, tenantId: clientId.slice(0, -4) };
  return (await world.token.redeemCode(presented)).userGrant?.authentication?.methods;
}

describe('a person with an authenticator app', () => {
  it('is asked for a code after the password, and signs in with two factors (RFC 8176 §2)', async () => {
    const person = newPerson(world);
    const { interactionId, next } = await afterPassword(person, account('acme', app));
    expect(stepOf(next)).toMatchObject({ name: 'totp', problem: '' });
    expect(person.sessionToken).toBe('');
    const wrong = stepOf(await send(person, interactionId, 'totp', { totp_code: '000000' }));
    expect(wrong).toMatchObject({ name: 'totp', problem: 'wrong_code' });
    const empty = stepOf(await send(person, interactionId, 'totp', { totp_code: ' ' }));
    expect(empty).toMatchObject({ name: 'totp', problem: 'incomplete' });
    const done = await send(person, interactionId, 'totp', { totp_code: app });
    expect(await methodsOf(done)).toEqual(['pwd', 'otp', 'mfa']);
  });

  it('cannot send the code before the password', async () => {
    const person = newPerson(world);
    account('acme', app);
    const interactionId = idOf(stepOf(await start(person)));
    expect(stepOf(await send(person, interactionId, 'totp', { totp_code: app })).name).toBe('password');
  });

  it('has guesses at codes counted apart: the right password does not clear them, and they do not block it', async () => {
    const identifier = account('acme', app);
    for (let guess = 0; guess < limit; guess += 1) {
      const person = newPerson(world);
      const { interactionId } = await afterPassword(person, identifier);
      const refused = stepOf(await send(person, interactionId, 'totp', { totp_code: `00000${guess}` }));
      expect(refused.problem).toBe('wrong_code');
    }
    const person = newPerson(world);
    const { interactionId, next } = await afterPassword(person, identifier);
    expect(stepOf(next).name).toBe('totp');
    await expect(send(person, interactionId, 'totp', { totp_code: app })).rejects.toMatchObject({
      code: 'rate_limited',
    });
    const about = { tenantId: 'acme', subject: `acme-${identifier}`, details: { factor: 'totp' } };
    const audited = async (event: string) =>
      (await world.audited(event)).filter(({ subject }) => subject === about.subject);
    await expect
      .poll(async () => audited('auth.login.failed'))
      .toMatchObject(Array.from({ length: limit }, () => ({ ...about, reason: 'wrong_factor' })));
    await expect.poll(async () => audited('ratelimit.exceeded')).toMatchObject([about]);
  });

  it('is asked for the code alone in a session that knows the password alone', async () => {
    const person = newPerson(world);
    const identifier = account('acme');
    await person.signIn({}, { identifier });
    await world.directory.changeUser(`acme-${identifier}`, { totpCode: app });
    const step = stepOf(await start(person));
    expect(step.name).toBe('totp');
    const done = await send(person, idOf(step), 'totp', { totp_code: app });
    expect(await methodsOf(done)).toEqual(['pwd', 'otp', 'mfa']);
    expect((await start(person))?.case).toBe('redirect');
  });
});

describe('a request that accepts no single factor', () => {
  const requests: Record<string, Record<string, string>> = {
    'acr_values=2 (OIDC Core §3.1.2.1, RFC 9470 §4)': { acr_values: '2' },
    'an essential acr (OIDC Core §5.5.1.1)': {
      claims: '{"id_token":{"acr":{"essential":true,"values":["2"]}}}',
    },
  };
  for (const [what, difference] of Object.entries(requests)) {
    it(`sets up an app on the way, once, with ${what}`, async () => {
      const person = newPerson(world);
      const identifier = account('acme');
      await person.signIn({}, { identifier });
      expect((await start(person))?.case).toBe('redirect');
      // A session is not enough: an open browser must not lock its owner out.
      const first = stepOf(await start(person, difference));
      expect(first.name).toBe('password');
      const enrolment = stepOf(await send(person, idOf(first), 'password', { identifier, password }));
      expect(enrolment.name).toBe('totp_enrolment');
      const wrong = stepOf(await send(person, idOf(enrolment), 'totp_enrolment', { enrolment_code: '1' }));
      expect(wrong).toMatchObject({ name: 'totp_enrolment', problem: 'wrong_code', shown: enrolment.shown });
      const codes = stepOf(
        await send(person, idOf(enrolment), 'totp_enrolment', { enrolment_code: enrolmentCode }),
      );
      expect(codes).toMatchObject({ name: 'recovery_codes', shown: { enrols: 'totp' } });
      expect(world.directory.users.get(`acme acme-${identifier}`)?.totpCode).toBeUndefined();
      const done = await send(person, idOf(codes), 'recovery_codes', { recovery_codes: 'kept' });
      expect(await methodsOf(done)).toEqual(['pwd', 'otp', 'mfa']);
      expect((await start(person, difference))?.case).toBe('redirect');
    });
  }

  it('asks for nothing if one factor is accepted too, and is refused with prompt=none (OIDC Core §3.1.2.6)', async () => {
    const person = newPerson(world);
    await person.signIn({}, { identifier: account('acme') });
    expect((await start(person, { acr_values: '2 1' }))?.case).toBe('redirect');
    expect((await start(person, { acr_values: 'urn:unknown' }))?.case).toBe('redirect');
    const none = await person.redirect({ acr_values: '2', prompt: 'none' });
    expect(none.get('error')).toBe('login_required');
  });
});

describe('a tenant whose policy is second-factor', () => {
  it('lets nobody enrol or see recovery codes in a visit whose password was changed since', async () => {
    const identifier = account('strict');
    const [early, late] = [newPerson(world), newPerson(world)];
    const { interactionId } = await afterPassword(early, identifier, strict);
    const parked = await afterPassword(late, identifier, strict);
    const saved = await send(late, parked.interactionId, 'totp_enrolment', { enrolment_code: enrolmentCode });
    expect(stepOf(saved).name).toBe('recovery_codes');
    const validFrom = BigInt(Math.floor(Date.now() / 1000) + 60);
    await world.directory.changeUser(`strict-${identifier}`, (user) => {
      delete user.totpCode;
      user.validFrom = validFrom;
    });
    const refused = { code: 'invalid_request' };
    const enrol = send(early, interactionId, 'totp_enrolment', { enrolment_code: enrolmentCode });
    await expect(enrol).rejects.toMatchObject(refused);
    expect(world.directory.users.get(`strict strict-${identifier}`)?.totpCode).toBeUndefined();
    const codes = send(late, parked.interactionId, 'recovery_codes', { recovery_codes: 'kept' });
    await expect(codes).rejects.toMatchObject(refused);
    expect(world.directory.users.get(`strict strict-${identifier}`)?.totpCode).toBeUndefined();
    const shown = world.gateway.getInteraction({ browser: early.context(), interactionId });
    await expect(shown).rejects.toMatchObject(refused);
  });

  it('has people set up an app at every sign-in without one, each visit with a secret of its own', async () => {
    const identifier = account('strict');
    const uris = new Set<string | undefined>();
    for (const person of [newPerson(world), newPerson(world)]) {
      const { next } = await afterPassword(person, identifier, strict);
      expect(stepOf(next).name).toBe('totp_enrolment');
      uris.add(stepOf(next).shown['uri']);
    }
    expect(uris.size).toBe(2);
  });

  const userOf = (identifier: string) => world.directory.users.get(`strict strict-${identifier}`);

  /** Somebody whose app has shown its first code: the page of the recovery codes. */
  async function atCodes(identifier: string) {
    const person = newPerson(world);
    const { interactionId } = await afterPassword(person, identifier, strict);
    const page = stepOf(
      await send(person, interactionId, 'totp_enrolment', { enrolment_code: enrolmentCode }),
    );
    expect(page).toMatchObject({ name: 'recovery_codes', problem: '' });
    const keep = async () => send(person, interactionId, 'recovery_codes', { recovery_codes: 'kept' });
    return { person, interactionId, page, keep };
  }

  it('enrols the app with the codes that were shown, once the person has saved them, however often they are looked at', async () => {
    const identifier = account('strict');
    const { person, interactionId, page, keep } = await atCodes(identifier);
    expect(userOf(identifier)).not.toHaveProperty('totpCode');
    for (let time = 0; time < 2; time += 1) {
      const reloaded = await world.gateway.getInteraction({ browser: person.context(), interactionId });
      expect(reloaded.step).toMatchObject({ name: 'recovery_codes', shown: page.shown });
      const again = await send(person, interactionId, 'totp_enrolment', { enrolment_code: enrolmentCode });
      expect(stepOf(again)).toMatchObject({ name: 'recovery_codes', shown: page.shown });
      const asked = await send(person, interactionId, 'recovery_codes', { recovery_codes: 'make' });
      expect(stepOf(asked)).toMatchObject({ name: 'recovery_codes', shown: page.shown });
    }
    expect(person.sessionToken).toBe('');
    expect(userOf(identifier)).not.toHaveProperty('totpCode');
    expect(await methodsOf(await keep(), 'strict-web')).toEqual(['pwd', 'otp', 'mfa']);
    expect(userOf(identifier)).toMatchObject({ totpCode: enrolmentCode, recoveryCode: codesOf(page)[0] });
  });

  it('signs the person in once if the form of saved codes is sent twice at once, or again', async () => {
    const identifier = account('strict');
    const { page, keep } = await atCodes(identifier);
    const answers = await Promise.allSettled([keep(), keep(), keep()]);
    const answered = answers.filter(({ status }) => status === 'fulfilled');
    expect(answered.length).toBeGreaterThan(0);
    expect(userOf(identifier)).toMatchObject({ totpCode: enrolmentCode, recoveryCode: codesOf(page)[0] });
    expect(await methodsOf(await keep(), 'strict-web')).toEqual(['pwd', 'otp', 'mfa']);
    expect(userOf(identifier)?.recoveryCode).toBe(codesOf(page)[0]);
  });

  it('says to who set the app up in another window that the codes of this one do not work, and asks for its code', async () => {
    const identifier = account('strict');
    const [first, second] = [await atCodes(identifier), await atCodes(identifier)];
    expect(codesOf(first.page)).not.toEqual(codesOf(second.page));
    expect((await first.keep())?.case).toBe('redirect');
    const late = stepOf(await second.keep());
    expect(late).toMatchObject({ name: 'totp', problem: 'other_app' });
    expect(second.person.sessionToken).toBe('');
    expect(userOf(identifier)?.recoveryCode).toBe(codesOf(first.page)[0]);
    const refused = await send(second.person, second.interactionId, 'recovery_codes', {
      recovery_codes: 'kept',
    });
    expect(stepOf(refused).name).toBe('totp');
    const done = await send(second.person, second.interactionId, 'totp', { totp_code: enrolmentCode });
    expect(await methodsOf(done, 'strict-web')).toEqual(['pwd', 'otp', 'mfa']);
  });

  it('is left as it was by a directory of another version: nothing is enrolled, and it is temporarily unavailable', async () => {
    const identifier = account('strict');
    const person = newPerson(world);
    const { interactionId } = await afterPassword(person, identifier, strict);
    world.directory.isEarlier = true;
    onTestFinished(() => void (world.directory.isEarlier = false));
    const enrol = send(person, interactionId, 'totp_enrolment', { enrolment_code: enrolmentCode });
    await expect(enrol).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    world.directory.isEarlier = false;
    expect(userOf(identifier)).not.toHaveProperty('totpCode');
    const { keep } = await atCodes(identifier);
    world.directory.isEarlier = true;
    await expect(keep()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    world.directory.isEarlier = false;
    expect(userOf(identifier)).not.toHaveProperty('totpCode');
    expect((await keep())?.case).toBe('redirect');
  });

  it('has a session by password alone count as none at our own pages, and asks for both factors there', async () => {
    const person = newPerson(world);
    const identifier = account('strict', app);
    world.directory.addTenant('strict', { authenticationPolicy: 'any' });
    await world.directory.changeUser(`strict-${identifier}`, (user) => delete user.totpCode);
    await world.directory.changeTenant('strict', 1);
    const { next } = await afterPassword(person, identifier, strict);
    expect(next?.case).toBe('redirect');
    expect((await world.gateway.getSession({ browser: person.context() })).session).toBeDefined();
    world.directory.addTenant('strict', { authenticationPolicy: 'second-factor' });
    await world.directory.changeTenant('strict', 1);
    await world.directory.changeUser(`strict-${identifier}`, { totpCode: app });
    expect((await world.gateway.getSession({ browser: person.context() })).session).toBeUndefined();
    const step = stepOf(await send(person, '', 'password', { identifier, password }));
    expect(step.name).toBe('totp');
    expect((await send(person, idOf(step), 'totp', { totp_code: app }))?.case).toBe('done');
    const { session } = await world.gateway.getSession({ browser: person.context() });
    expect(session?.authentication?.methods).toEqual(['pwd', 'otp', 'mfa']);
  });
});

describe('an application that asks for a second factor', () => {
  const payroll = { client_id: 'acme-payroll' };
  beforeAll(() => {
    const application = world.directory.applications.get('acme-web');
    const policy = { clientId: 'acme-payroll', authenticationPolicy: 'second-factor' };
    world.directory.addApplication('acme-payroll', { ...application, ...policy });
  });

  it('gets one from a session by password alone, which stays enough for others (RFC 9470 §4)', async () => {
    const person = newPerson(world);
    const identifier = account('acme');
    const { next } = await afterPassword(person, identifier);
    expect(await methodsOf(next)).toEqual(['pwd']);
    // Who has none sets one up, for which an open browser is not enough.
    expect(stepOf(await start(person, payroll)).name).toBe('password');
    expect((await start(person))?.case).toBe('redirect');
    await world.directory.changeUser(`acme-${identifier}`, { totpCode: app });
    expect(stepOf(await start(person, payroll)).name).toBe('totp');
    const silent = await start(person, { ...payroll, prompt: 'none' });
    expect(silent?.value).toMatchObject({ location: expect.stringContaining('error=interaction_required') });
  });

  it('does not weaken the policy of its tenant', async () => {
    const application = world.directory.applications.get('strict-web');
    world.directory.addApplication('strict-lax', {
      ...application,
      clientId: 'strict-lax',
      authenticationPolicy: 'any',
    });
    const { next } = await afterPassword(newPerson(world), account('strict', app), {
      client_id: 'strict-lax',
    });
    expect(stepOf(next).name).toBe('totp');
  });

  it('has it asked for at our own pages on the way to a decision for it alone', async () => {
    const to = { name: OwnPage_Name.APPROVALS, tenantId: 'acme' };
    const identifier = account('acme');
    const enter = async (clientId: string, person = newPerson(world)) =>
      send(person, '', 'password', { identifier, password }, { ...to, clientId });
    expect(stepOf(await enter('acme-payroll')).name).toBe('totp_enrolment');
    for (const clientId of ['', 'acme-web', 'strict-web', 'nobody'])
      expect((await enter(clientId))?.case).toBe('done');
  });
});
