import { OwnPage_Name } from '@tessera/proto-gen/authorize';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPerson, type Person } from '../testing/visitor.ts';
import { createWorld, password, request, type World } from '../testing/world.ts';

let world: World;
let count = 0;
beforeAll(async () => {
  world = await createWorld();
  world.directory.addTenant('strict', { authenticationPolicy: 'second-factor' });
  const application = world.directory.applications.get('acme-web');
  world.directory.addApplication('strict-web', {
    ...application,
    clientId: 'strict-web',
    tenantId: 'strict',
  });
});
afterAll(() => world.service.close());

/** Somebody new, of a tenant that asks for a second factor. */
function account(fields: { totpCode?: string; hasPasskey?: boolean } = {}): string {
  const username = `eve${(count += 1)}`;
  const names = { tenantId: 'strict', username, email: `${username}@people.example`, phoneNumber: '' };
  world.directory.addUser(`strict-${username}`, { ...names, password, ...fields });
  return username;
}

async function begin(person: Person): Promise<{ readonly step: string; readonly interactionId: string }> {
  const visit = { case: 'request', value: { parameters: request({ client_id: 'strict-web' }) } } as const;
  const { next } = await world.gateway.begin({ browser: person.context(), visit });
  if (next?.next.case !== 'step') throw new Error(`no step but ${next?.next.case}`);
  const { name, interaction } = next.next.value;
  return { step: name, interactionId: interaction?.interactionId ?? '' };
}

/** What a form leads to: the step that is shown next, or an error. */
async function send(
  person: Person,
  interactionId: string,
  step: string,
  fields: Readonly<Record<string, string>>,
): Promise<string> {
  const visit = { case: 'interactionId', value: interactionId } as const;
  try {
    const { next, session } = await world.gateway.continue({
      browser: person.context(),
      visit,
      step,
      fields,
    });
    if (session !== undefined) person.sessionToken = session.sessionToken;
    return next?.next.case === 'step' ? next.next.value.name : String(next?.next.case);
  } catch {
    return 'error';
  }
}

/** Every form of a sign-in but that of the password, with whatever passes nobody. */
const forms: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['totp', { totp_code: '' }],
  ['passkey', { passkey: '', passkey_nonce: '' }],
  ['passkey', { passkey: '{}', passkey_nonce: 'a-nonce' }],
  ['totp_enrolment', { enrolment_code: '' }],
  ['recovery_codes', { recovery_codes: 'kept' }],
  ['passkey_enrolment', { passkey_later: 'yes' }],
  ['passkey_enrolment', { passkey_created: '', passkey_nonce: '' }],
  ['consent', { consent: 'allow' }],
  ['no-such-step', {}],
];

describe('a sign-in that needs two factors', () => {
  it.each(forms)(
    'is not passed by the form of %s before the password, nor by an empty one after it (CVE-2026-18963, CVE-2026-49448)',
    async (step, fields) => {
      const username = account({ totpCode: '654321' });
      const person = newPerson(world);
      const { interactionId } = await begin(person);
      expect(['password', 'error']).toContain(await send(person, interactionId, step, fields));
      expect(person.sessionToken).toBe('');
      expect(await send(person, interactionId, 'password', { identifier: username, password })).toBe('totp');
      expect(['totp', 'error']).toContain(await send(person, interactionId, step, fields));
      expect(person.sessionToken).toBe('');
      expect((await begin(person)).step).toBe('password');
    },
  );

  it('asks for the set-up again where it was left, begun anew or at another page (CVE-2026-94218)', async () => {
    const username = account();
    const person = newPerson(world);
    for (let time = 0; time < 2; time += 1) {
      const { step, interactionId } = await begin(person);
      expect(step).toBe('password');
      const sent = { identifier: username, password };
      expect(await send(person, interactionId, 'password', sent)).toBe('totp_enrolment');
      expect(person.sessionToken).toBe('');
    }
    for (const name of [OwnPage_Name.DEVICE, OwnPage_Name.APPROVALS, OwnPage_Name.PASSWORD]) {
      const visit = { case: 'page', value: { name, tenantId: 'strict' } } as const;
      const fields = { identifier: username, password };
      const browser = person.context();
      const { next, session } = await world.gateway.continue({ browser, visit, step: 'password', fields });
      expect(next?.next.case === 'step' && next.next.value.name).toBe('totp_enrolment');
      expect(session).toBeUndefined();
    }
  });

  it('still asks for the factor after the password was replaced by a link', async () => {
    const username = account({ totpCode: '654321' });
    const user = world.directory.users.get(`strict strict-${username}`);
    if (user !== undefined) user.password = 'a password that a link has set';
    const person = newPerson(world);
    const { interactionId } = await begin(person);
    const sent = { identifier: username, password: 'a password that a link has set' };
    expect(await send(person, interactionId, 'password', sent)).toBe('totp');
    expect(person.sessionToken).toBe('');
  });

  it.each(['by an administrator, which ends sign-ins of before', 'without a word'])(
    'is not passed by who waits for the factor to be removed: %s',
    async (how) => {
      const username = account({ totpCode: '654321' });
      const person = newPerson(world);
      const { interactionId } = await begin(person);
      expect(await send(person, interactionId, 'password', { identifier: username, password })).toBe('totp');
      const validFrom = BigInt(Math.floor(Date.now() / 1000) + 60);
      await world.directory.changeUser(`strict-${username}`, (user) => {
        delete user.totpCode;
        if (how !== 'without a word') user.validFrom = validFrom;
      });
      const next = await send(person, interactionId, 'totp', { totp_code: '' });
      expect(next).toBe(how === 'without a word' ? 'totp_enrolment' : 'error');
      expect(person.sessionToken).toBe('');
    },
  );
});
