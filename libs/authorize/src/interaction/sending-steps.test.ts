import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Step as StepMessage } from '@tessera/proto-gen/authorize';
import { OwnPage_Name } from '@tessera/proto-gen/authorize';
import { createWorld, password, request } from '../testing/world.ts';
import type { World } from '../testing/world.ts';
import { newPerson } from '../testing/visitor.ts';
import type { Person } from '../testing/visitor.ts';
import type { Step } from '../visits/step.ts';

const sentTo: string[] = [];

/** A letter to who signs in to `acme-web`, or sees their account, with a word in it. */
const letter: Step = {
  name: 'letter',
  isDue: (_from, { person, purpose }, { clientId }) =>
    (clientId === 'acme-web' || purpose === 'account') && person?.methods.includes('otp') === false,
  async enter(_from, { person }) {
    sentTo.push(person?.userId ?? '');
    return `letter ${sentTo.length} to ${person?.userId ?? ''}`;
  },
  shown: (_from, { sent }) => ({ sent: sent?.['letter'] ?? '' }),
  async take(from, visit, policy, { word, again }) {
    if (again === 'yes' && letter.enter !== undefined) {
      const sent = { ...visit.sent, letter: await letter.enter(from, visit, policy) };
      return { outcome: 'changed', visit: { ...visit, sent } };
    }
    if (word !== 'right') return { outcome: 'refused', problem: 'wrong_word' };
    const { tenantId, person } = visit;
    const { user } = await world.directory.client.getUser({ tenantId, userId: person?.userId ?? '' });
    if (user === undefined) throw new Error('no such person');
    return { outcome: 'verified', user, signedInAt: undefined, methods: ['otp'] };
  },
};

let world: World;
beforeAll(async () => {
  world = await createWorld({ steps: [letter] });
});
afterAll(() => world.service.close());
beforeEach(() => {
  sentTo.length = 0;
});

const right = { identifier: 'ada', password };
const spa = { client_id: 'acme-spa', redirect_uri: 'https://spa.example/cb' };

async function begin(person: Person, difference: Record<string, string> = {}) {
  const visit = { case: 'request', value: { parameters: request(difference) } } as const;
  return (await world.gateway.begin({ browser: person.context(), visit })).next?.next;
}

async function send(person: Person, value: string, step: string, fields: Record<string, string>) {
  const visit = { case: 'interactionId', value } as const;
  const { next, session } = await world.gateway.continue({ browser: person.context(), visit, step, fields });
  if (session !== undefined) person.sessionToken = session.sessionToken;
  return next?.next;
}

type NextCase = Awaited<ReturnType<typeof send>>;

function stepOf(next: NextCase): StepMessage {
  if (next?.case !== 'step') throw new Error(`no step but ${next?.case}`);
  return next.value;
}

const visitOf = (next: NextCase) => stepOf(next).interaction?.interactionId ?? '';

describe('a step that sends something', () => {
  it('sends it once, when its page is the next one, and remembers it', async () => {
    const person = newPerson(world);
    const id = visitOf(await begin(person));
    expect(sentTo).toEqual([]);
    const first = stepOf(await send(person, id, 'password', right));
    expect(first).toMatchObject({ name: 'letter', shown: { sent: 'letter 1 to acme-ada' } });
    // The answer was lost, the page is loaded again, the word is wrong.
    await send(person, id, 'password', right);
    const shown = await world.gateway.getInteraction({ browser: person.context(), interactionId: id });
    expect(shown.step?.shown).toEqual({ sent: 'letter 1 to acme-ada' });
    const wrong = stepOf(await send(person, id, 'letter', { word: 'wrong' }));
    expect(wrong).toMatchObject({ problem: 'wrong_word', shown: { sent: 'letter 1 to acme-ada' } });
    expect(sentTo).toEqual(['acme-ada']);
    expect(await send(person, id, 'letter', { word: 'right' })).toMatchObject({ case: 'redirect' });
    expect(sentTo).toEqual(['acme-ada']);
  });

  it('may send it again, and goes on with its own page', async () => {
    const person = newPerson(world);
    const id = visitOf(await begin(person));
    await send(person, id, 'password', right);
    const again = stepOf(await send(person, id, 'letter', { again: 'yes' }));
    expect(again).toMatchObject({ name: 'letter', problem: '', shown: { sent: 'letter 2 to acme-ada' } });
    const shown = await world.gateway.getInteraction({ browser: person.context(), interactionId: id });
    expect(shown.step?.shown).toEqual({ sent: 'letter 2 to acme-ada' });
  });

  it('sends it to who is signed in and lacks it, but not where nothing may be shown (OIDC Core §3.1.2.6)', async () => {
    const person = newPerson(world);
    await send(person, visitOf(await begin(person, spa)), 'password', right);
    expect(await begin(person, { prompt: 'none' })).toMatchObject({ case: 'redirect' });
    await world.gateway.getSession({ browser: person.context() });
    expect(sentTo).toEqual([]);
    const due = await begin(person);
    expect(stepOf(due)).toMatchObject({ name: 'letter', shown: { sent: 'letter 1 to acme-ada' } });
    expect(await send(person, visitOf(due), 'letter', { word: 'right' })).toMatchObject({ case: 'redirect' });
    expect(sentTo).toEqual(['acme-ada']);
  });

  it('sends it after the first form at a page of ours, whose visit is stored then', async () => {
    const person = newPerson(world);
    const visit = { case: 'page', value: { name: OwnPage_Name.ACCOUNT, tenantId: 'acme' } } as const;
    const given = { browser: person.context(), visit, step: 'password', fields: right };
    const next = (await world.gateway.continue(given)).next?.next;
    expect(stepOf(next)).toMatchObject({ name: 'letter', shown: { sent: 'letter 1 to acme-ada' } });
    expect(await send(person, visitOf(next), 'letter', { word: 'right' })).toMatchObject({ case: 'done' });
    expect(sentTo).toEqual(['acme-ada']);
  });

  it('forgets what it sent once the person is no longer known', async () => {
    const person = newPerson(world);
    await send(person, visitOf(await begin(person, spa)), 'password', right);
    const id = visitOf(await begin(person));
    await world.gateway.endSession({ browser: person.context() });
    expect(stepOf(await send(person, id, 'letter', { word: 'right' })).name).toBe('password');
    const bob = stepOf(await send(person, id, 'password', { ...right, identifier: 'bob' }));
    expect(bob.shown).toEqual({ sent: 'letter 2 to acme-bob' });
  });
});
