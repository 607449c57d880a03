import { ConsentsService } from '@tessera/proto-gen/admin-consents';
import { local, onBehalfOf, rootCall } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { begin, newPerson, type Person } from '../testing/visitor.ts';
import { createWorld, password, request, type World } from '../testing/world.ts';

let world: World;
let count = 0;
/** Third-party applications of the test, and its people. */
let clients: readonly [string, string];
let people: readonly [string, string];
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

beforeEach(() => {
  const id = (count += 1);
  clients = [`books-${id}`, `cards-${id}`];
  people = [`acme-eve${id}`, `acme-gus${id}`];
  const application = world.directory.applications.get('acme-web');
  for (const clientId of clients)
    world.directory.addApplication(clientId, { ...application, clientId, thirdParty: true });
  for (const userId of people)
    world.directory.addUser(userId, { tenantId: 'acme', username: userId.slice('acme-'.length), password });
});

const admin = { type: 'user', tenantId: 'ops', id: 'usr_root' } as const;
const call = () => onBehalfOf(rootCall('a-request'), admin);
const api = () => local(ConsentsService, world.service, 'admin', silentLog());

/** Somebody who signs in and allows these applications what they ask for. */
async function allowing(userId: string, clientIds: readonly string[]): Promise<Person> {
  const person = newPerson(world);
  await person.signIn({}, { identifier: userId.slice('acme-'.length) });
  for (const clientId of clientIds) {
    const { next } = await begin(world, person.context(), { parameters: request({ client_id: clientId }) });
    if (next.case !== 'interaction') throw new Error(`not asked but ${next.case}`);
    await world.gateway.continue({
      browser: person.context(),
      visit: { case: 'interactionId', value: next.value.interactionId },
      step: 'consent',
      fields: { consent: 'allow' },
    });
  }
  return person;
}

const isAsked = async (person: Person, clientId: string) =>
  (await begin(world, person.context(), { parameters: request({ client_id: clientId }) })).next.case ===
  'interaction';

async function listed(whose: { userId?: string; clientId?: string }, pageSize = 50) {
  const found: string[] = [];
  let pageToken = '';
  do {
    const page = await api().list({ tenantId: 'acme', ...whose, pageSize, pageToken }, call());
    found.push(...page.consents.map(({ userId, clientId }) => `${userId} ${clientId}`));
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return found;
}

describe('administrators', () => {
  it('see what people allowed, of a person, for an application and of the tenant, page by page', async () => {
    const [[books, cards], [eve, gus]] = [clients, people];
    const before = Date.now() - 60_000;
    await allowing(eve, clients);
    await allowing(gus, [books]);
    const all = [`${eve} ${books}`, `${eve} ${cards}`, `${gus} ${books}`];
    expect(await listed({ userId: eve }, 1)).toEqual(all.slice(0, 2));
    expect(await listed({ clientId: books }, 1)).toEqual([all[0], all[2]]);
    expect(await listed({ userId: gus, clientId: books }, 1)).toEqual([all[2]]);
    expect(await listed({ userId: gus, clientId: cards })).toEqual([]);
    expect(await listed({}, 2)).toEqual(expect.arrayContaining(all));
    const { consents } = await api().list({ tenantId: 'acme', userId: gus }, call());
    expect(consents).toMatchObject([
      { username: gus.slice('acme-'.length), scopes: ['openid', 'profile', 'orders.read'] },
    ]);
    expect(Number(consents[0]?.grantTime?.seconds) * 1000).toBeGreaterThan(before);
    expect((await api().list({ tenantId: 'umbra', userId: eve }, call())).consents).toEqual([]);
    const { nextPageToken: pageToken } = await api().list(
      { tenantId: 'acme', userId: eve, pageSize: 1 },
      call(),
    );
    const foreign = api().list({ tenantId: 'acme', userId: gus, pageToken }, call());
    await expect(foreign).rejects.toThrow('belongs to another search');
  });

  it('do not see consents that a change of the person or of the application has ended', async () => {
    const [[books, cards], [eve, gus]] = [clients, people];
    await allowing(eve, clients);
    await allowing(gus, [books]);
    const validFrom = BigInt(Math.floor(Date.now() / 1000) + 1);
    await world.directory.changeApplication(books, { validFrom });
    expect(await listed({ userId: eve })).toEqual([`${eve} ${cards}`]);
    expect(await listed({ clientId: books })).toEqual([]);
    await world.directory.changeUser(eve, { validFrom });
    expect(await listed({ userId: eve })).toEqual([]);
    expect(await listed({ userId: gus })).toEqual([]);
  });

  it('withdraw what one person allowed one application, with a row that names them', async () => {
    const [[books, cards], [eve, gus]] = [clients, people];
    const [person, other] = [await allowing(eve, clients), await allowing(gus, [books])];
    const consent = { tenantId: 'acme', userId: eve, clientId: books };
    await api().delete(consent, call());
    expect([await isAsked(person, books), await isAsked(person, cards)]).toEqual([true, false]);
    expect(await isAsked(other, books)).toBe(false);
    await expect(api().delete(consent, call())).rejects.toThrow('not_found');
    const rows = (await world.audited('consent.revoked')).filter((row) => row['subject'] === eve);
    expect(rows).toMatchObject([
      {
        reason: 'administrator',
        clientId: books,
        tenantId: 'acme',
        actor: admin,
        requestId: 'a-request',
        outcome: 'success',
      },
    ]);
  });

  it('withdraw nothing of another tenant, and must say whose and for which application', async () => {
    const [[books], [eve]] = [clients, people];
    const person = await allowing(eve, [books]);
    for (const [wrong, error] of [
      [{ tenantId: 'umbra', userId: eve, clientId: books }, 'not_found'],
      [{ tenantId: 'acme', userId: eve, clientId: 'unknown' }, 'not_found'],
      [{ tenantId: 'acme', userId: eve }, 'invalid_argument'],
      [{ tenantId: 'acme', clientId: books }, 'invalid_argument'],
    ] as const)
      await expect(api().delete(wrong, call())).rejects.toThrow(error);
    expect(await isAsked(person, books)).toBe(false);
  });
});

describe('the count of consents that a change ends', () => {
  const counted = async (ends: {
    readonly userIds?: string[];
    readonly clientIds?: string[];
    readonly everything?: boolean;
    readonly authenticationPolicy?: string;
  }) => {
    const { consents } = await world.token.countEndedConsents({ ends: { tenantId: 'acme', ...ends } });
    return { total: consents?.total, of: consents?.first.map((each) => `${each.username} ${each.clientId}`) };
  };

  it('has each of the people and applications once, and those that count alone', async () => {
    const [[books, cards], [eve, gus]] = [clients, people];
    await allowing(eve, clients);
    await allowing(gus, [books]);
    const [ofEve, ofGus] = [eve, gus].map((userId) => userId.slice('acme-'.length));
    expect(await counted({ userIds: [eve] })).toEqual({
      total: 2,
      of: [`${ofEve} ${books}`, `${ofEve} ${cards}`],
    });
    expect(await counted({ clientIds: [books], userIds: [eve] })).toEqual({
      total: 3,
      of: [`${ofEve} ${books}`, `${ofGus} ${books}`, `${ofEve} ${cards}`],
    });
    expect(await counted({ authenticationPolicy: 'second-factor' })).toEqual({ total: 0, of: [] });
    const all = await counted({ everything: true });
    expect(all.of).toEqual(expect.arrayContaining([`${ofEve} ${cards}`, `${ofGus} ${books}`]));
    await world.directory.changeUser(eve, { validFrom: BigInt(Math.floor(Date.now() / 1000) + 1) });
    expect(await counted({ userIds: [eve, gus] })).toEqual({ total: 1, of: [`${ofGus} ${books}`] });
    expect((await counted({ everything: true })).total).toBe(Number(all.total) - 2);
  });
});
