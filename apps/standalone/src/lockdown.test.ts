import { beforeAll, expect, it } from 'vitest';
import { call, impactWorld, type ImpactWorld } from './testing/impact-world.ts';

const partner = (clientId: string) => ({
  clientId,
  name: clientId,
  type: 'public',
  thirdParty: true,
  grantTypes: ['authorization_code', 'refresh_token'],
  redirectUris: [`https://${clientId}.example/cb`],
  scopes: ['openid', 'offline_access'],
});
const users = [{ username: 'eve' }, { username: 'gus' }];
const applications = ['books', 'cards'].map(partner);
/** YAML includes JSON. */
const document = JSON.stringify({ tenants: [{ id: 'acme', name: 'Acme', users, applications }] });

let on: ImpactWorld;
beforeAll(async () => {
  on = await impactWorld();
  await on.files.apply({ document, fileName: 'state.yaml' }, call());
  const usual = { isSession: false, isOld: false, over: '', atOtherIssuer: false, methods: ['pwd'] } as const;
  await on.issue(
    'acme',
    [0, 1].flatMap((person) => [0, 1].map((application) => ({ ...usual, person, application }))),
  );
});

const allowed = async () => {
  const { consents } = await on.consents.list({ tenantId: 'acme' }, call());
  return consents.map(({ username, clientId }) => `${username} ${clientId}`).toSorted();
};
const personCalled = async (search: string) => {
  const found = await on.users.list({ tenantId: 'acme', search }, call());
  return { tenantId: 'acme', userId: found.users[0]?.userId ?? '' };
};
const ofGus = ['gus books', 'gus cards'];

it('a lockdown ends what the person allowed applications, and says so before and after', async () => {
  const eve = await personCalled('eve');
  const before = ['eve books', 'eve cards', ...ofGus];
  expect(await allowed()).toEqual(before);
  const told = { total: 2, first: ['books', 'cards'].map((clientId) => ({ username: 'eve', clientId })) };
  const would = await on.users.lockDown({ ...eve, validateOnly: true, impact: true }, call());
  expect(would.impact).toMatchObject({ consents: told, refreshFamilies: { total: 2 } });
  expect(await allowed()).toEqual(before);
  const did = await on.users.lockDown({ ...eve, impact: true }, call());
  expect(did.impact).toMatchObject({ consents: told, refreshFamilies: { total: 2 } });
  expect(await allowed()).toEqual(ofGus);
  const again = await on.users.lockDown({ ...eve, impact: true }, call());
  expect(again.impact).toMatchObject({ consents: { total: 0 }, refreshFamilies: { total: 0 } });
});

it('a withdrawn consent takes the grants of the person at the application with it, and no others', async () => {
  const gus = await personCalled('gus');
  const consent = { ...gus, clientId: 'books' };
  expect(await on.consents.delete(consent, call())).toMatchObject({ revokedGrants: 1 });
  expect(await allowed()).toEqual(['gus cards']);
  const { grants } = await on.grants.list(gus, call());
  expect(grants.map(({ clientId }) => clientId)).toEqual(['cards']);
  await expect(on.consents.delete(consent, call())).rejects.toThrow('not_found');
});
