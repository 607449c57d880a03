import { afterAll, beforeAll, expect, it } from 'vitest';
import { createWorld, password, request } from './testing/world.ts';
import type { World } from './testing/world.ts';
import { codeOf, newPerson, redemption } from './testing/visitor.ts';
import type { Person } from './testing/visitor.ts';

/** Compatibility until 0.3: what a gateway of version 0.1 calls. */

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

const umbra = { client_id: 'umbra-web', redirect_uri: 'https://umbra.example/cb' };

async function begin(person: Person, difference: Record<string, string> = {}) {
  const browser = person.context();
  return (await world.gateway.beginAuthorization({ browser, parameters: request(difference) })).next;
}

it('signs a person in for an authorization request, which a form repeats after a wrong password', async () => {
  const person = newPerson(world);
  const next = await begin(person, { login_hint: 'ada' });
  if (next.case !== 'interaction') throw new Error(`no sign-in page but ${next.case}`);
  const { interactionId } = next.value;
  expect(next.value).toMatchObject({ clientId: 'acme-web', loginHint: 'ada', tenantName: 'ACME' });
  const shown = await world.gateway.getInteraction({ browser: person.context(), interactionId });
  expect(shown.interaction).toEqual(next.value);
  const attempt = { browser: person.context(), interactionId, identifier: 'ada', password };
  const wrong = await world.gateway.signIn({ ...attempt, password: 'wrong' });
  expect(wrong.outcome).toMatchObject({ case: 'wrongCredentials', value: { interaction: next.value } });
  const { outcome } = await world.gateway.signIn(attempt);
  if (outcome.case !== 'signedIn') throw new Error(`not signed in but ${outcome.case}`);
  person.sessionToken = outcome.value.session?.sessionToken ?? '';
  const { userGrant } = await world.token.redeemCode(redemption(codeOf(outcome.value.redirect?.location)));
  expect(userGrant).toMatchObject({ userId: 'acme-ada', authentication: { methods: ['pwd'] } });
  expect((await begin(person)).case).toBe('redirect');
  expect((await begin(person, umbra)).case).toBe('tenantMismatch');
});

it('reports another tenant and a request that may no longer be served', async () => {
  const person = newPerson(world);
  const spa = { client_id: 'acme-spa', redirect_uri: 'https://spa.example/cb' };
  const [own, other] = [await begin(person, spa), await begin(person, umbra)];
  await person.signIn();
  const attempt = { browser: person.context(), identifier: 'ada', password };
  const idOf = ({ case: kind, value }: typeof own) => (kind === 'interaction' ? value.interactionId : '');
  const elsewhere = await world.gateway.signIn({ ...attempt, interactionId: idOf(other) });
  expect(elsewhere.outcome).toMatchObject({
    case: 'tenantMismatch',
    value: { interaction: { tenantId: 'umbra' } },
  });
  await world.directory.changeApplication('acme-spa', { grantTypes: ['refresh_token'] });
  const refused = await world.gateway.signIn({ ...attempt, interactionId: idOf(own) });
  await world.directory.changeApplication('acme-spa', { grantTypes: ['authorization_code'] });
  expect(refused.outcome.case).toBe('redirect');
});

it('signs a person in at a page of ours', async () => {
  const person = newPerson(world);
  const attempt = { browser: person.context(), tenantId: 'acme', identifier: 'ada', password };
  const wrong = await world.gateway.signInDirect({ ...attempt, password: 'wrong' });
  expect([wrong.session, wrong.tenantMismatch]).toEqual([undefined, false]);
  const { session } = await world.gateway.signInDirect(attempt);
  const browser = { ...person.context(), sessionToken: session?.sessionToken ?? '' };
  expect((await world.gateway.getSession({ browser })).session?.userId).toBe('acme-ada');
  const elsewhere = await world.gateway.signInDirect({ ...attempt, browser, tenantId: 'umbra' });
  expect([elsewhere.session, elsewhere.tenantMismatch]).toEqual([undefined, true]);
});
