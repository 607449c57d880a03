import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Step as StepMessage } from '@tessera/proto-gen/authorize';
import { OwnPage_Name } from '@tessera/proto-gen/authorize';
import { Status } from '@tessera/proto-gen/directory';
import { createWorld, newBrowserId, password, request } from '../testing/world.ts';
import type { World } from '../testing/world.ts';
import { codeOf, newPerson, redemption } from '../testing/visitor.ts';
import type { Person } from '../testing/visitor.ts';
import type { Step } from '../visits/step.ts';

/** A second factor for `acme-web`: the name of the person backwards. */
const otp: Step = {
  name: 'otp',
  isDue: (_from, { person }, { clientId }) =>
    clientId === 'acme-web' && person?.methods.includes('otp') === false,
  shown: (_from, { person }) => ({ for: person?.userId ?? '' }),
  async take(_from, { person, tenantId }, _policy, { otp: given }) {
    const user = world.directory.users.get(`${tenantId} ${person?.userId}`);
    if (given !== 'ada' || user === undefined) return { outcome: 'refused', problem: 'wrong_otp' };
    const { user: verified } = await world.directory.client.getUser({
      tenantId,
      userId: person?.userId ?? '',
    });
    if (verified === undefined) throw new Error('no such person');
    return { outcome: 'verified', user: verified, signedInAt: Date.now() + 60_000, methods: ['otp'] };
  },
};

/** Something to agree to for `acme-spa` and at `/device`, whenever a person signs in. */
const terms: Step = {
  name: 'terms',
  isDue: (_from, { purpose, person, done }, { clientId }) =>
    person !== undefined && !done.includes('terms') && (clientId === 'acme-spa' || purpose === 'device'),
  shown: () => ({}),
  take: async (_from, _visit, _policy, { terms: given }) =>
    given === 'accepted' ? { outcome: 'agreed' } : { outcome: 'refused', problem: 'not_accepted' },
};

let world: World;
beforeAll(async () => {
  world = await createWorld({ steps: [otp, terms] });
});
afterAll(() => world.service.close());

const spa = { client_id: 'acme-spa', redirect_uri: 'https://spa.example/cb' };
const right = { identifier: 'ada', password };
const invalidContext = { code: 'invalid_request' };

async function begin(person: Person, difference: Record<string, string> = {}) {
  const visit = { case: 'request', value: { parameters: request(difference) } } as const;
  return (await world.gateway.begin({ browser: person.context(), visit })).next?.next;
}

async function interactionOf(person: Person, difference?: Record<string, string>): Promise<string> {
  return stepOf(await begin(person, difference)).interaction?.interactionId ?? '';
}

/** Sends the form of a step; keeps the cookies that the browser gets. */
async function send(person: Person, value: string, step: string, fields: Record<string, string>, at = world) {
  const browser = person.context();
  const visit = { case: 'interactionId', value } as const;
  const { next, session } = await at.gateway.continue({ browser, visit, step, fields });
  if (session !== undefined) person.sessionToken = session.sessionToken;
  return { next: next?.next, session };
}

type NextCase = Awaited<ReturnType<typeof send>>['next'];

function stepOf(next: NextCase): StepMessage {
  if (next?.case !== 'step') throw new Error(`no step but ${next?.case}`);
  return next.value;
}

function redirectOf(next: NextCase): string {
  if (next?.case !== 'redirect') throw new Error(`no redirect but ${next?.case}`);
  return next.value.location;
}

const sessionOf = async (person: Person) =>
  (await world.gateway.getSession({ browser: person.context() })).session;

describe('a visit of several steps', () => {
  it('asks one after the other, and opens the session after the last, with the methods of all (OIDC Core §2, amr)', async () => {
    const person = newPerson(world);
    const interactionId = await interactionOf(person);
    const first = await send(person, interactionId, 'password', right);
    expect(stepOf(first.next)).toMatchObject({
      name: 'otp',
      problem: '',
      interaction: { interactionId },
      shown: { for: 'acme-ada' },
    });
    expect(first.session).toBeUndefined();
    const { rows } = await world.database.query({
      name: 'test.sessions_of_address',
      text: 'SELECT 1 FROM authorize.session WHERE ip_address = $1',
      values: [person.ipAddress],
    });
    expect(rows).toEqual([]);
    const wrong = await send(person, interactionId, 'otp', { otp: 'x' });
    expect(stepOf(wrong.next)).toMatchObject({ name: 'otp', problem: 'wrong_otp' });
    const last = await send(person, interactionId, 'otp', { otp: 'ada' });
    const { userGrant } = await world.token.redeemCode(redemption(codeOf(redirectOf(last.next))));
    const session = await sessionOf(person);
    expect(session?.authentication?.methods).toEqual(['pwd', 'otp']);
    expect(userGrant?.authentication).toEqual(session?.authentication);
    // Of the first step, although the second claims to be a minute later.
    expect(Math.abs((session?.authentication?.time ?? 0) - Date.now() / 1000)).toBeLessThan(30);
  });

  it('shows the step that is due, also in another process', async () => {
    const person = newPerson(world);
    const interactionId = await interactionOf(person);
    await send(person, interactionId, 'password', right);
    const other = await createWorld({ beside: world, steps: [otp, terms] });
    const shown = await other.gateway.getInteraction({ browser: person.context(), interactionId });
    expect(shown.step).toMatchObject({ name: 'otp', interaction: { interactionId } });
    const { session } = await send(person, interactionId, 'otp', { otp: 'ada' }, other);
    expect(session).toBeDefined();
    await other.service.close();
  });

  it('judges no form of another step than the one that is due', async () => {
    const person = newPerson(world);
    const interactionId = await interactionOf(person);
    for (const step of ['otp', 'terms', '', 'nonsense']) {
      const { next, session } = await send(person, interactionId, step, { otp: 'ada', terms: 'accepted' });
      expect([stepOf(next).name, session]).toEqual(['password', undefined]);
    }
    await send(person, interactionId, 'password', right);
    const checks = world.directory.calls.verifyPassword;
    const { next } = await send(person, interactionId, 'password', { ...right, identifier: 'bob' });
    expect(stepOf(next).name).toBe('otp');
    expect(world.directory.calls.verifyPassword).toBe(checks);
  });

  it('goes on in its own browser alone (CVE-2026-7507)', async () => {
    const [owner, thief] = [newPerson(world), newPerson(world)];
    const interactionId = await interactionOf(owner);
    await send(owner, interactionId, 'password', right);
    for (const browserId of [thief.browserId, '', newBrowserId()]) {
      thief.browserId = browserId;
      await expect(send(thief, interactionId, 'otp', { otp: 'ada' })).rejects.toMatchObject(invalidContext);
    }
  });

  it.each([
    ['was disabled', 'terms', { status: Status.DISABLED }],
    ['changed the password', 'terms', { validFrom: BigInt(Math.floor(Date.now() / 1000) + 3600) }],
    ['changed the password', 'otp', { validFrom: BigInt(Math.floor(Date.now() / 1000) + 3600) }],
  ])('ends without a session if the person %s before the step %s', async (_what, step, change) => {
    const person = newPerson(world);
    const interactionId = await interactionOf(person, step === 'terms' ? spa : {});
    await send(person, interactionId, 'password', { ...right, identifier: 'bob' });
    await world.directory.changeUser('acme-bob', change);
    const sent = send(person, interactionId, step, { terms: 'accepted', otp: 'ada' });
    await expect(sent).rejects.toMatchObject(invalidContext);
    await world.directory.changeUser('acme-bob', { status: Status.ACTIVE, validFrom: 0n });
  });

  it('ends with the form of a step that is no longer due, as one that remembers for good may be after a lost answer', async () => {
    const asked = new Set(['acme-ada']);
    const once: Step = {
      ...terms,
      isDue: (_from, { person }) => person !== undefined && asked.has(person.userId),
      async take(...taken) {
        asked.clear();
        return terms.take(...taken);
      },
    };
    const other = await createWorld({ beside: world, steps: [once] });
    const person = newPerson(world);
    const interactionId = await interactionOf(person, spa);
    await send(person, interactionId, 'password', right, other);
    const lost = await send(person, interactionId, 'terms', { terms: 'accepted' }, other);
    const kept = await send(person, interactionId, 'terms', { terms: 'accepted' }, other);
    expect(redirectOf(kept.next)).toContain('code=tc_');
    expect(redirectOf(kept.next)).not.toBe(redirectOf(lost.next));
    await other.service.close();
  });

  it('takes the last form again if its answer was lost: only the last code is valid', async () => {
    const person = newPerson(world);
    const interactionId = await interactionOf(person, spa);
    await send(person, interactionId, 'password', right);
    const lost = await send(person, interactionId, 'terms', { terms: 'accepted' });
    const kept = await send(person, interactionId, 'terms', { terms: 'accepted' });
    const of = ({ next }: typeof lost) =>
      redemption(codeOf(redirectOf(next)), { clientId: spa.client_id, redirectUri: spa.redirect_uri });
    await expect(world.token.redeemCode(of(lost))).rejects.toMatchObject({ code: 'invalid_grant' });
    await expect(world.token.redeemCode(of(kept))).resolves.toBeDefined();
    const again = send(person, interactionId, 'terms', { terms: 'accepted' });
    await expect(again).rejects.toMatchObject(invalidContext);
  });
});

describe('a person who is signed in', () => {
  it('is asked for the missing step alone, and gets a session with both methods', async () => {
    const person = newPerson(world);
    const first = await interactionOf(person, spa);
    await send(person, first, 'password', right);
    await send(person, first, 'terms', { terms: 'accepted' });
    const before = await sessionOf(person);
    expect(before?.authentication?.methods).toEqual(['pwd']);
    const due = stepOf(await begin(person));
    expect(due.name).toBe('otp');
    const earlier = person.context();
    const { session } = await send(person, due.interaction?.interactionId ?? '', 'otp', { otp: 'ada' });
    expect(session).toBeDefined();
    const ofEarlier = await world.gateway.getSession({ browser: earlier });
    expect(ofEarlier.session, 'who knows the former value gains nothing (session fixation)').toBeUndefined();
    const after = await sessionOf(person);
    expect(after?.authentication?.methods).toEqual(['pwd', 'otp']);
    expect(after?.sessionId).not.toBe(before?.sessionId);
    expect(redirectOf(await begin(person))).toContain('code=tc_');
  });

  it('keeps the session when they only agree to something', async () => {
    const person = newPerson(world);
    const first = await interactionOf(person);
    await send(person, first, 'password', right);
    await send(person, first, 'otp', { otp: 'ada' });
    const before = await sessionOf(person);
    const due = stepOf(await begin(person, spa));
    expect(due.name).toBe('terms');
    const interactionId = due.interaction?.interactionId ?? '';
    const { next, session } = await send(person, interactionId, 'terms', { terms: 'accepted' });
    expect([redirectOf(next).includes('code=tc_'), session]).toEqual([true, undefined]);
    expect((await sessionOf(person))?.sessionId).toBe(before?.sessionId);
  });

  it('is asked for the password if they signed out meanwhile', async () => {
    const person = newPerson(world);
    const first = await interactionOf(person);
    await send(person, first, 'password', right);
    await send(person, first, 'otp', { otp: 'ada' });
    const interactionId = await interactionOf(person, spa);
    await world.gateway.endSession({ browser: person.context() });
    const { next, session } = await send(person, interactionId, 'terms', { terms: 'accepted' });
    expect([stepOf(next).name, session]).toEqual(['password', undefined]);
  });

  it('gets interaction_required for prompt=none if a step is missing (OIDC Core §3.1.2.6)', async () => {
    const person = newPerson(world);
    const first = await interactionOf(person);
    await send(person, first, 'password', right);
    await send(person, first, 'otp', { otp: 'ada' });
    const location = new URL(redirectOf(await begin(person, { ...spa, prompt: 'none' })));
    expect(location.searchParams.get('error')).toBe('interaction_required');
    const nobody = new URL(redirectOf(await begin(newPerson(world), { ...spa, prompt: 'none' })));
    expect(nobody.searchParams.get('error')).toBe('login_required');
  });
});

describe('a visit to a page of ours', () => {
  const page = { name: OwnPage_Name.DEVICE, tenantId: 'acme' };

  it('is stored after its first step, if another one follows', async () => {
    const person = newPerson(world);
    const browser = person.context();
    const visit = { case: 'page', value: page } as const;
    const first = await world.gateway.continue({ browser, visit, step: 'password', fields: right });
    const { name, interaction } = stepOf(first.next?.next);
    expect([name, first.session]).toEqual(['terms', undefined]);
    const id = interaction?.interactionId ?? '';
    const { next, session } = await send(person, id, 'terms', { terms: 'accepted' });
    expect([next?.case, session !== undefined]).toEqual(['done', true]);
    expect((await sessionOf(person))?.userId).toBe('acme-ada');
    await expect(send(person, id, 'terms', { terms: 'accepted' })).rejects.toMatchObject(invalidContext);
  });

  it('asks again for an incomplete form, and counts and hashes nothing', async () => {
    const browser = newPerson(world).context();
    const visit = { case: 'page', value: page } as const;
    world.redis.reset();
    const checks = world.directory.calls.verifyPassword;
    for (const fields of [{}, { identifier: 'ada' }, { password }]) {
      const { next } = await world.gateway.continue({ browser, visit, step: 'password', fields });
      expect(stepOf(next?.next)).toMatchObject({ name: 'password', problem: 'incomplete' });
    }
    expect([world.redis.names, world.directory.calls.verifyPassword]).toEqual([[], checks]);
  });

  it.each([{ case: undefined }, { case: 'page', value: { tenantId: 'acme' } } as const])(
    'is named by the call (%j)',
    async (visit) => {
      const browser = newPerson(world).context();
      await expect(world.gateway.continue({ browser, visit })).rejects.toThrow(/visit is required/);
    },
  );
});
