import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, issuer, request } from '../testing/world.ts';
import type { World } from '../testing/world.ts';
import { begin, newPerson } from '../testing/visitor.ts';
import type { Person } from '../testing/visitor.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

async function start(person: Person, hintedUserId: string, difference = {}) {
  const parameters = request(difference);
  return (await begin(world, person.context(), { parameters, hintedUserId })).next;
}

async function interaction(person: Person, hintedUserId: string): Promise<string> {
  const next = await start(person, hintedUserId);
  if (next.case !== 'interaction') throw new Error(`no sign-in page but ${next.case}`);
  return next.value.interactionId;
}

function answerOf(location: string | undefined): Record<string, string> {
  return Object.fromEntries(new URL(location ?? '').searchParams);
}

const loginRequired = { error: 'login_required', state: 'xyz', iss: issuer };

describe('a request with an id_token_hint (OIDC Core §3.1.2.1)', () => {
  it('is served by the session of the named person, also with prompt=none', async () => {
    const ada = newPerson(world);
    await ada.signIn();
    for (const difference of [{}, { prompt: 'none' }]) {
      const next = await start(ada, 'acme-ada', difference);
      expect(next.case === 'redirect' && answerOf(next.value.location)).toHaveProperty('code');
    }
  });

  it('is not served by the session of someone else: sign-in page, or login_required for prompt=none', async () => {
    const ada = newPerson(world);
    await ada.signIn();
    expect((await start(ada, 'acme-bob')).case).toBe('interaction');
    const refused = await start(ada, 'acme-bob', { prompt: 'none' });
    expect(refused.case === 'redirect' && answerOf(refused.value.location)).toMatchObject(loginRequired);
    expect((await ada.redirect()).has('code'), 'the session is as it was').toBe(true);
  });

  it('gets invalid_request for an invalid hint, with and without a session, whatever the prompt (§3.1.2.6)', async () => {
    const ada = newPerson(world);
    await ada.signIn();
    for (const person of [ada, newPerson(world)]) {
      for (const prompt of ['none', 'login', undefined]) {
        const { next } = await begin(world, person.context(), {
          parameters: request({ prompt }),
          idTokenHintIsInvalid: true,
        });
        const answer = next.case === 'redirect' ? answerOf(next.value.location) : {};
        expect(answer).toMatchObject({ error: 'invalid_request', state: 'xyz', iss: issuer });
        expect(answer).not.toHaveProperty('code');
      }
    }
    const latest = async () => (await world.audited('authorize.rejected', 1)).at(-1);
    await expect.poll(latest).toMatchObject({ reason: 'invalid_request', clientId: 'acme-web' });
  });

  it('gets a code when the named person signs in', async () => {
    const person = newPerson(world);
    const { outcome } = await person.submit(await interaction(person, 'acme-ada'));
    expect(outcome.case === 'signedIn' && answerOf(outcome.value.redirect?.location)).toHaveProperty('code');
  });

  it('gets no code when someone else signs in: the client gets an error, and the sign-in itself holds', async () => {
    const person = newPerson(world);
    const before = (await world.audited('authorize.rejected', 0)).length;
    const interactionId = await interaction(person, 'acme-ada');
    const { outcome } = await person.submit(interactionId, { identifier: 'bob' });
    if (outcome.case !== 'signedIn') throw new Error(`not signed in but ${outcome.case}`);
    const answer = answerOf(outcome.value.redirect?.location);
    expect(answer).toMatchObject(loginRequired);
    expect(answer).not.toHaveProperty('code');
    person.sessionToken = outcome.value.session?.sessionToken ?? '';
    const { session } = await world.gateway.getSession({ browser: person.context() });
    expect(session?.userId).toBe('acme-bob');
    await expect(person.submit(interactionId)).rejects.toMatchObject({ code: 'invalid_request' });
    const rows = await world.audited('authorize.rejected', before + 1);
    expect(rows.at(-1)).toMatchObject({ reason: 'login_required', clientId: 'acme-web' });
    const issued = await world.audited('code.issued', 0);
    expect(issued.filter(({ ipAddress }) => ipAddress === person.ipAddress)).toEqual([]);
  });

  it('does not override a session of another tenant (contract, GET /authorize)', async () => {
    const ada = newPerson(world);
    await ada.signIn();
    const umbra = { client_id: 'umbra-web', redirect_uri: 'https://umbra.example/cb' };
    expect((await start(ada, 'umbra-ada', umbra)).case).toBe('tenantMismatch');
  });
});
