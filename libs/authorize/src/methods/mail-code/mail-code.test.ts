import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OwnPage_Name, type Step } from '@tessera/proto-gen/authorize';
import { codeOf, newPerson, redemption, type Person } from '../../testing/visitor.ts';
import { createWorld, password, request, type World } from '../../testing/world.ts';

const limit = 4;
let world: World;
let count = 0;
beforeAll(async () => {
  world = await createWorld({ config: { TESSERA_LOGIN_FAILURES_PER_ACCOUNT: limit } });
  const application = world.directory.applications.get('acme-web');
  for (const [tenantId, fields] of Object.entries({
    alone: { signInMethods: ['mail-code'] },
    second: { signInMethods: ['mail-code-second'], authenticationPolicy: 'second-factor' },
    both: { signInMethods: ['mail-code'], authenticationPolicy: 'second-factor' },
    later: { signInMethods: ['mail-code-of-a-later-version'], authenticationPolicy: 'second-factor' },
    strong: { signInMethods: ['mail-code'], authenticationPolicy: 'phishing-resistant' },
    silent: { signInMethods: ['mail-code'], sendsMail: false },
  })) {
    world.directory.addTenant(tenantId, { sendsMail: true, ...fields });
    world.directory.addApplication(`${tenantId}-web`, {
      ...application,
      clientId: `${tenantId}-web`,
      tenantId,
    });
  }
});
afterAll(() => world.service.close());

/** Somebody new with an address; their user name. */
function account(
  tenantId: string,
  more: { readonly totpCode?: string; readonly email?: string } = {},
): string {
  const username = `eve${(count += 1)}`;
  const names = { tenantId, username, email: `${username}@people.example`, phoneNumber: '', password };
  world.directory.addUser(`${tenantId}-${username}`, { ...names, ...more });
  return username;
}

type NextCase = Awaited<ReturnType<typeof send>>;

async function start(person: Person, tenantId: string, more: Record<string, string> = {}) {
  const parameters = request({ client_id: `${tenantId}-web`, ...more });
  const visit = { case: 'request', value: { parameters } } as const;
  const { next } = await world.gateway.begin({ browser: person.context(), visit });
  return next?.next;
}

async function send(person: Person, value: string, step: string, fields: Record<string, string>) {
  const visit = { case: 'interactionId', value } as const;
  const browser = { ...person.context(), languages: 'de en' };
  const { next, session } = await world.gateway.continue({ browser, visit, step, fields });
  if (session !== undefined) person.sessionToken = session.sessionToken;
  return next?.next;
}

function stepOf(next: NextCase): Step {
  if (next?.case !== 'step') throw new Error(`no step but ${next?.case}`);
  return next.value;
}

async function methodsOf(next: NextCase, tenantId: string) {
  if (next?.case !== 'redirect') throw new Error(`no redirect but ${next?.case}`);
  const code = codeOf(next.value.location);
  const redeemed = redemption(code, { tenantId, clientId: `${tenantId}-web` });
  return (await world.token.redeemCode(redeemed)).userGrant?.authentication?.methods;
}

const lastAsked = () => world.directory.mailCodes.asked.at(-1);
const lastCode = () => world.directory.mailCodes.codeOf(lastAsked()?.visit ?? '') ?? '';

/** A visit whose page shows a first step; its identifier. */
async function visit(person: Person, tenantId: string, more?: Record<string, string>): Promise<string> {
  return stepOf(await start(person, tenantId, more)).interaction?.interactionId ?? '';
}

/** Asks for a code, as the page of the password does. */
async function ask(person: Person, id: string, identifier: string) {
  return stepOf(await send(person, id, 'mail_code', { mail_code: '', identifier }));
}

describe('a code by mail in place of a password', () => {
  it('is offered, mailed to who asks in this browser, and signs in as one factor (RFC 8176 §2, otp)', async () => {
    const person = newPerson(world);
    const username = account('alone');
    const begun = stepOf(await start(person, 'alone', { ui_locales: 'ar' }));
    expect(begun).toMatchObject({ name: 'password', shown: { mail_code: 'offered' } });
    const id = begun.interaction?.interactionId ?? '';
    const asked = await ask(person, id, ` ${username} `);
    expect(asked).toMatchObject({ name: 'mail_code', problem: '', shown: { mail_code_for: username } });
    expect(lastAsked()).toMatchObject({ identifier: username, languages: 'ar de en' });
    const code = lastCode();
    const wrong = stepOf(await send(person, id, 'mail_code', { mail_code: '00000000' }));
    expect(wrong).toMatchObject({ name: 'mail_code', problem: 'wrong_mail_code' });
    const thief = newPerson(world);
    const stolen = send(thief, id, 'mail_code', { mail_code: code });
    await expect(stolen).rejects.toMatchObject({ code: 'invalid_request' });
    const elsewhere = await visit(thief, 'alone');
    await ask(thief, elsewhere, username);
    expect(stepOf(await send(thief, elsewhere, 'mail_code', { mail_code: code })).problem).toBe(
      'wrong_mail_code',
    );
    expect(await methodsOf(await send(person, id, 'mail_code', { mail_code: code }), 'alone')).toEqual([
      'otp',
    ]);
  });

  it('answers unknown people as known ones, and asks no directory who exists before it answers', async () => {
    const [known, unknown] = [newPerson(world), newPerson(world)];
    const names = [account('alone'), 'nobody'];
    const before = world.directory.calls.findUser;
    const pages = [];
    for (const [at, person] of [known, unknown].entries()) {
      const id = await visit(person, 'alone');
      const identifier = names[at] ?? '';
      const asked = await ask(person, id, identifier);
      const { interaction: _own, ...page } = asked;
      pages.push(JSON.parse(JSON.stringify(page).replaceAll(identifier, 'who')) as object);
      expect(world.directory.calls.findUser).toBe(before + at);
      const wrong = stepOf(await send(person, id, 'mail_code', { mail_code: '00000000' }));
      expect([wrong.name, wrong.problem]).toEqual(['mail_code', 'wrong_mail_code']);
    }
    expect(pages[1]).toEqual(pages[0]);
  });

  it('is asked for with an identifier that is cut in the middle of a character, as it is too long to exist', async () => {
    const person = newPerson(world);
    const asked = await ask(person, await visit(person, 'alone'), `${'x'.repeat(511)}\u{1f600}`);
    expect([asked.name, asked.problem]).toEqual(['mail_code', '']);
  });

  it('may be asked for again, and given up for the password', async () => {
    const person = newPerson(world);
    const username = account('alone');
    const id = await visit(person, 'alone');
    expect(stepOf(await send(person, id, 'mail_code', { mail_code: '', identifier: ' ' }))).toMatchObject({
      name: 'password',
      problem: 'no_identifier',
    });
    await ask(person, id, username);
    const first = world.directory.mailCodes.asked.length;
    const empty = stepOf(await send(person, id, 'mail_code', { mail_code: '' }));
    expect(empty.problem).toBe('incomplete_mail_code');
    await send(person, id, 'mail_code', { mail_code: '', mail_code_again: 'yes' });
    expect(world.directory.mailCodes.asked.length).toBe(first + 1);
    expect(lastAsked()).toMatchObject({ identifier: username });
    const back = stepOf(await send(person, id, 'mail_code', { mail_code: '', mail_code_back: 'yes' }));
    expect(back).toMatchObject({ name: 'password', problem: '', shown: { mail_code: 'offered' } });
    const signedIn = await send(person, id, 'password', { identifier: username, password });
    expect(await methodsOf(signedIn, 'alone')).toEqual(['pwd']);
  });

  it.each(['second', 'later', 'silent', 'acme'])(
    'is neither offered nor taken where the tenant is %s',
    async (tenantId) => {
      const person = newPerson(world);
      const begun = stepOf(await start(person, tenantId));
      expect(begun.shown).not.toHaveProperty('mail_code');
      const asked = world.directory.mailCodes.asked.length;
      const id = begun.interaction?.interactionId ?? '';
      expect(await ask(person, id, account(tenantId))).toMatchObject({
        name: 'password',
        problem: 'no_mail_code',
      });
      expect(world.directory.mailCodes.asked.length).toBe(asked);
    },
  );

  it('asks who has an app for its code, and who must have two factors for another than a second code', async () => {
    const person = newPerson(world);
    const withApp = account('both', { totpCode: '654321' });
    const id = await visit(person, 'both');
    await ask(person, id, withApp);
    expect(stepOf(await send(person, id, 'mail_code', { mail_code: lastCode() })).name).toBe('totp');
    const done = await send(person, id, 'totp', { totp_code: '654321' });
    expect(await methodsOf(done, 'both')).toEqual(['otp', 'mfa']);
    const other = newPerson(world);
    const another = await visit(other, 'both');
    await ask(other, another, account('both'));
    const next = stepOf(await send(other, another, 'mail_code', { mail_code: lastCode() }));
    expect(next.name).toBe('totp_enrolment');
  });

  it('is limited as passwords are, for known and unknown people, and a right one does not help then', async () => {
    for (const identifier of [account('alone'), `nobody${(count += 1)}`]) {
      const person = newPerson(world);
      const id = await visit(person, 'alone');
      await ask(person, id, identifier);
      const wrong = async () => send(person, id, 'mail_code', { mail_code: '00000000' });
      for (let at = 0; at < limit; at += 1) expect(stepOf(await wrong()).problem).toBe('wrong_mail_code');
      await expect(wrong()).rejects.toMatchObject({ code: 'rate_limited' });
      const right = send(person, id, 'mail_code', { mail_code: lastCode() || '11111111' });
      await expect(right).rejects.toMatchObject({ code: 'rate_limited' });
      const [failed] = await world.audited('auth.login.failed', 1);
      expect(JSON.stringify(failed)).toContain('mail_code');
    }
  });

  it('works on the way to a page of ours, whose visit is stored then', async () => {
    const person = newPerson(world);
    const page = { case: 'page', value: { name: OwnPage_Name.ACCOUNT, tenantId: 'alone' } } as const;
    const browser = person.context();
    const fields = { mail_code: '', identifier: account('alone') };
    const wrong = { identifier: 'eve', password: 'wrong' };
    const refused = await world.gateway.continue({ browser, visit: page, step: 'password', fields: wrong });
    expect(stepOf(refused.next?.next), 'it is offered after a wrong password, too').toMatchObject({
      problem: 'wrong_credentials',
      shown: { mail_code: 'offered' },
    });
    const asked = await world.gateway.continue({ browser, visit: page, step: 'mail_code', fields });
    const id = stepOf(asked.next?.next).interaction?.interactionId ?? '';
    expect(await send(person, id, 'mail_code', { mail_code: lastCode() })).toMatchObject({ case: 'done' });
  });
});

describe('a code by mail after a password', () => {
  it.each(['second', 'both'])(
    'is sent to who has no other second factor, once, where the tenant is %s',
    async (tenantId) => {
      const person = newPerson(world);
      const username = account(tenantId);
      const id = await visit(person, tenantId);
      const before = world.directory.mailCodes.asked.length;
      const due = stepOf(await send(person, id, 'password', { identifier: username, password }));
      expect(due).toMatchObject({ name: 'mail_code', shown: { mail_code_to: 'e***@people.example' } });
      await world.gateway.getInteraction({ browser: person.context(), interactionId: id });
      expect(world.directory.mailCodes.asked.length).toBe(before + 1);
      expect(lastAsked()).toMatchObject({ userId: `${tenantId}-${username}`, languages: 'de en' });
      const code = lastCode();
      await send(person, id, 'mail_code', { mail_code: '', mail_code_again: 'yes' });
      expect(stepOf(await send(person, id, 'mail_code', { mail_code: code })).problem).toBe(
        'wrong_mail_code',
      );
      const done = await send(person, id, 'mail_code', { mail_code: lastCode() });
      expect(await methodsOf(done, tenantId)).toEqual(['pwd', 'otp', 'mfa']);
      expect(await start(person, tenantId), 'the session has it').toMatchObject({ case: 'redirect' });
    },
  );

  it('says that it is locked where codes in place of a password used up the attempts, and then takes no right one', async () => {
    const username = account('both');
    for (const identifier of [username, `${username}@people.example`]) {
      const person = newPerson(world);
      const id = await visit(person, 'both');
      await ask(person, id, identifier);
      for (let at = 0; at < limit / 2; at += 1)
        await send(person, id, 'mail_code', { mail_code: '00000000' });
    }
    const person = newPerson(world);
    const id = await visit(person, 'both');
    expect(stepOf(await send(person, id, 'password', { identifier: username, password })).name).toBe(
      'mail_code',
    );
    const right = send(person, id, 'mail_code', { mail_code: lastCode() });
    await expect(right).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('is none for who has an app, has no address, or must resist phishing', async () => {
    const next = async (tenantId: string, more: object) => {
      const person = newPerson(world);
      const fields = { identifier: account(tenantId, more), password };
      return stepOf(await send(person, await visit(person, tenantId), 'password', fields)).name;
    };
    expect(await next('second', { totpCode: '654321' })).toBe('totp');
    expect(await next('second', { email: '' })).toBe('totp_enrolment');
    expect(await next('later', {})).toBe('totp_enrolment');
    expect(await next('strong', {})).toBe('passkey_enrolment');
  });

  it('says so if too many were sent', async () => {
    const person = newPerson(world);
    const fields = { identifier: account('second'), password };
    world.directory.mailCodes.isLimited = true;
    const due = stepOf(await send(person, await visit(person, 'second'), 'password', fields));
    world.directory.mailCodes.isLimited = false;
    expect(due).toMatchObject({ name: 'mail_code', shown: { mail_code_unsent: 'yes' } });
  });

  it('cannot be given up for the password, and its guesses lock no password', async () => {
    const person = newPerson(world);
    const username = account('second');
    const id = await visit(person, 'second');
    await send(person, id, 'password', { identifier: username, password });
    const back = stepOf(await send(person, id, 'mail_code', { mail_code: '', mail_code_back: 'yes' }));
    expect([back.name, back.problem]).toEqual(['mail_code', 'incomplete_mail_code']);
    for (let at = 0; at < limit; at += 1) await send(person, id, 'mail_code', { mail_code: '00000000' });
    const locked = send(person, id, 'mail_code', { mail_code: lastCode() });
    await expect(locked).rejects.toMatchObject({ code: 'rate_limited' });
    const again = newPerson(world);
    const due = await send(again, await visit(again, 'second'), 'password', {
      identifier: username,
      password,
    });
    expect(stepOf(due).name).toBe('mail_code');
  });
});
