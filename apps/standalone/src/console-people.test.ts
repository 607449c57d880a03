import { signedInConsole } from '@tessera/console/testing';
import { opaqueValue, Secret, systemRandom } from '@tessera/kit';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { callingByToken, local } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { administered, call, type Administered } from './testing/administered.ts';
import { consoleBrowser } from './testing/console-browser.ts';
import { ownRecords } from './testing/console-records.ts';

let on: Administered;
let at: ReturnType<typeof consoleBrowser>;
let root: string;
let made: ReturnType<typeof signedInConsole>;
/** Whom a file declares. */
let ofFile: string;
let users: ReturnType<typeof local<typeof UsersService>>;

beforeAll(async () => {
  on = await administered();
  on.clock.set(Date.now());
  ofFile = await on.userId('acme', 'ada');
  users = local(UsersService, on.directory, 'operator', silentLog());
  made = signedInConsole({
    url: 'http://127.0.0.1',
    proof: new Secret(opaqueValue('', systemRandom)),
    issuer: 'https://id.example',
    operatorTenant: 'ops',
    directory: local(DirectoryService, on.directory, 'admin', silentLog()),
    byToken: await callingByToken(on.admin.routes, silentLog()),
    messagesDirectory: undefined,
    log: silentLog(),
  });
  at = consoleBrowser(await on.serve(on.admin, made.pages));
  root = made.cookieOf('ops', await on.tokenOfPerson('ops', await on.userId('ops', 'root')), true);
});

const tenantId = 'acme';
const people = '/o/acme/people';

const added = async (user: object) => users.create({ tenantId, user }, call());
const stored = async (userId: string) => users.get({ tenantId, userId }, call());
const problemAt = (id: string, html: string) =>
  new RegExp(`id="${id}-problem"[^>]*>([^<]*)<`).exec(html)?.[1] ?? '';

describe('a new person', () => {
  const path = '/o/acme/new-person';

  it('is added from the list of people, and is to be invited next', async () => {
    expect((await at.visit(people, root)).html).toContain(`href="/console${path}"`);
    const sent = { username: 'grace', name: 'Grace Hopper', email: 'grace@acme.example' };
    const made = await at.submit(path, root, { ...sent, phoneNumber: '+46 (0)70 123-45 67' });
    expect(made.html).toContain('The person is added');
    const userId = await on.userId(tenantId, 'grace');
    expect(await stored(userId)).toMatchObject({ ...sent, phoneNumber: '+46701234567', owner: 'api' });
    expect(made.html).toMatch(
      new RegExp(`href="/console${people}/${userId}/link">Invite<[^]*href="/console${people}/${userId}">`),
    );
  });

  it('whose name, address or number is taken, or is none, is told so beside the field, and keeps what was typed', async () => {
    await added({ username: 'taken', email: 'taken@acme.example', phoneNumber: '+46701111111' });
    const fields = { username: 'Taken', name: 'T', email: 'TAKEN@acme.example', phoneNumber: '+46701111111' };
    const refused = await at.submit(path, root, fields);
    expect(refused.status).toBe(409);
    for (const id of ['username', 'email', 'phoneNumber'])
      expect([id, problemAt(id, refused.html)]).toEqual([id, 'Another person here already has this.']);
    expect(refused.html).toContain('value="TAKEN@acme.example"');
    const wrong = await at.submit(path, root, { ...fields, username: '', email: 'nobody', phoneNumber: '1' });
    expect([wrong.status, problemAt('username', wrong.html)]).toEqual([400, 'Fill this in.']);
    expect(problemAt('email', wrong.html)).toContain('Enter an email address');
    expect(problemAt('phoneNumber', wrong.html)).toContain('Enter a phone number');
  });

  it('with the user name of somebody who was deleted lately is asked for once more, as another person', async () => {
    const { userId: former } = await added({ username: 'Leaver' });
    await users.delete({ tenantId, userId: former }, call());
    const asked = await at.submit(path, root, { username: 'leaver', name: 'Another Leaver' });
    expect([asked.status, asked.html]).toEqual([200, expect.stringContaining('Is this another person?')]);
    expect(asked.html).toContain('href="/console/o/acme/deleted-people?q=leaver"');
    expect(await on.userId(tenantId, 'leaver')).toBe('');
    expect((await at.confirm(path, root, asked)).html).toContain('The person is added');
    const { userId, name } = await stored(await on.userId(tenantId, 'leaver'));
    expect([name, userId === former]).toEqual(['Another Leaver', false]);
  });
});

describe('the edit of a person', () => {
  const full = {
    name: 'Ada Lovelace',
    email: 'ada.l@acme.example',
    emailVerified: true,
    phoneNumber: '+46702222222',
    nickname: 'Ada',
    attributes: { department: 'Engines' },
  };

  async function person(username: string, more: object = {}) {
    const { userId } = await added({ ...full, username, email: `${username}@acme.example`, ...more });
    return { userId, path: `${people}/${userId}/edit` };
  }

  it('changes what was entered, and loses nothing else of the record', async () => {
    const { userId, path } = await person('edited', { phoneNumber: '' });
    expect((await at.visit(`${people}/${userId}`, root)).html).toContain(`href="/console${path}"`);
    const fields = { username: 'edited.anew', name: 'Ada King', givenName: 'Ada', familyName: 'King' };
    const sent = { ...fields, email: 'edited@acme.example', phoneNumber: '+46 703333333' };
    expect((await at.submit(path, root, sent)).html).toContain('The person is changed');
    expect(await stored(userId)).toMatchObject({
      ...sent,
      phoneNumber: '+46703333333',
      emailVerified: true,
      nickname: 'Ada',
      attributes: { department: 'Engines' },
    });
  });

  it.each([
    ['keep', 'Same.Address@acme.example', true],
    ['keep', 'another@acme.example', undefined],
    ['yes', 'proved@acme.example', true],
    ['no', 'same.address@acme.example', false],
  ])('says with %s of the address %s that it is verified: %j', async (emailVerified, email, expected) => {
    const { userId, path } = await person('same.address', { phoneNumber: '' });
    await at.submit(path, root, { username: 'same.address', email, emailVerified });
    expect(await stored(userId)).toMatchObject({ email });
    expect((await stored(userId)).emailVerified).toBe(expected);
    await users.delete({ tenantId, userId }, call());
    await on.database.query({
      name: 'test.forget',
      text: 'DELETE FROM directory.deleted_record',
      values: [],
    });
  });

  it('refuses what another person has beside its field, and a change that somebody else has made meanwhile', async () => {
    const { userId, path } = await person('first', { phoneNumber: '+46704444444' });
    await person('second', { phoneNumber: '' });
    const { html } = await at.visit(path, root);
    expect(html).toContain('value="first@acme.example"');
    const refused = await at.submit(path, root, { username: 'second', email: '', phoneNumber: '' });
    expect([refused.status, problemAt('username', refused.html)]).toEqual([
      409,
      'Another person here already has this.',
    ]);
    await users.update(
      { tenantId, user: { userId, name: 'Meanwhile' }, updateMask: { paths: ['name'] } },
      call(),
    );
    const late = await at.confirm(path, root, { html, status: 200, location: '' }, { username: 'late' });
    expect([late.status, (await stored(userId)).username]).toEqual([409, 'first']);
    expect(late.html).toContain('value="Meanwhile"');
  });

  it('is not offered for a record of a file, whose owner the page names', async () => {
    const { html } = await at.visit(`${people}/${ofFile}/edit`, root);
    expect(html).toContain('A file manages this record.');
    expect(html).not.toContain('type="submit"');
  });
});

describe('a way in of a person', () => {
  it('is removed by its name, which says first what ends, until nothing lets the person in', async () => {
    const { person = '', passkey = '' } = await ownRecords(on, ':passkey', tenantId);
    await on.session({ tenantId, userId: person });
    const shown = (await at.visit(`${people}/${person}`, root)).html;
    const remove = async (way: string) => {
      const path = `${people}/${person}/${way}/remove`;
      expect(shown).toContain(`href="/console${path}">Remove<`);
      const asked = await at.visit(path, root);
      return { asked: asked.html, done: (await at.confirm(path, root, asked)).html };
    };
    const laptop = await remove(`passkeys/${passkey}`);
    expect(laptop.asked).toMatch(/The passkey Laptop stops working[^]*1 session ends/);
    expect(laptop.asked).not.toContain('recovery codes');
    expect(laptop.done).toContain('The passkey is removed');
    const app = await remove('app');
    expect(app.asked).toContain('The recovery codes stop working');
    expect(app.done).toContain('The authenticator app is removed');
    const corp = await remove('linked/corp');
    expect(corp.asked).toMatch(
      /The account at corp no longer leads[^]*Nothing lets this person in afterwards/,
    );
    expect(corp.done).toMatch(/Nothing lets this person in now[^]*\/link">Send a link for a new password</);
    const had = await users.getCredentials({ tenantId, userId: person }, call());
    expect(had).toMatchObject({ passkeys: [], providers: [], hasTotp: false, recoveryCodes: 0, waysIn: [] });
    expect((await at.visit(`${people}/${person}/app/remove`, root)).status).toBe(404);
  });
});

describe('what was deleted', () => {
  it.each(['people', 'applications'])(
    'can be searched among the %s of the last 30 days, and is restored once somebody has confirmed',
    async (kind) => {
      const { person = '', application = '' } = await ownRecords(
        on,
        '/o/:tenant/deleted-applications/:application/restore',
        tenantId,
      );
      const id = kind === 'people' ? person : application;
      const list = `/o/acme/deleted-${kind}`;
      expect((await at.visit(`/o/acme/${kind}`, root)).html).toContain(`href="/console${list}"`);
      const restore = `${list}/${id}/restore`;
      expect((await at.visit(`${list}?q=own`, root)).html).toContain(`href="/console${restore}">Restore<`);
      expect((await at.visit(`${list}?q=others`, root)).html).not.toContain(restore);
      const asked = await at.visit(restore, root);
      expect((await at.visit(`/o/acme/${kind}/${id}`, root)).status).toBe(404);
      expect((await at.confirm(restore, root, asked)).html).toContain(' is restored</h1>');
      expect((await at.visit(`/o/acme/${kind}/${id}`, root)).status).toBe(200);
      expect((await at.visit(list, root)).html).not.toContain(restore);
    },
  );

  it('is kept on every page of the list, to the last', async () => {
    for (let n = 0; n < 60; n += 1) {
      const { userId } = await added({ username: `paged.${n}`, name: `Paged ${n}` });
      await users.delete({ tenantId, userId }, call());
    }
    const seen = new Set<string>();
    for (let path = '/o/acme/deleted-people?q=paged'; path !== '';) {
      const { html } = await at.visit(path, root);
      for (const [name] of html.matchAll(/Paged \d+/g)) seen.add(name);
      path = /<a rel="next" href="\/console([^"]+)"/.exec(html)?.[1] ?? '';
    }
    expect(seen.size).toBe(60);
  });

  it('says why it stays deleted while another person has the user name, and leads back', async () => {
    const { userId } = await added({ username: 'namesake' });
    await users.delete({ tenantId, userId }, call());
    await users.create({ tenantId, user: { username: 'namesake' }, newPerson: true }, call());
    const { status, html } = await at.visit(`/o/acme/deleted-people/${userId}/restore`, root);
    expect([status, html]).toEqual([409, expect.stringContaining('Another person has the user name')]);
    expect(html).toMatch(/href="\/console\/o\/acme\/deleted-people">Back</);
  });
});

it.each([
  ['Update', { user: { status: 'disabled' }, updateMask: 'status' }],
  ['Update', { user: { status: 'locked' }, updateMask: 'status', validateOnly: true, impact: true }],
  ['Update', { user: { roles: ['tessera.auditor'] }, updateMask: 'roles', takeOver: true }],
  ['Delete', {}],
] as const)('an operator shuts nobody out of their own account: %s %o', async (name, fields) => {
  const userId = await on.userId('ops', 'root');
  const token = await on.tokenOfPerson('ops', userId);
  const before = await on.everything();
  const whose = 'user' in fields ? { ...fields, user: { ...fields.user, userId } } : { ...fields, userId };
  const refused = await on.post(
    `tessera.admin.v1.UsersService/${name}`,
    { tenantId: 'ops', ...whose },
    token,
  );
  expect(refused.body).toMatchObject({
    code: 'failed_precondition',
    message: expect.stringMatching(/^You cannot .* another administrator\.$/) as string,
  });
  expect(await on.everything()).toBe(before);
  // The name is nothing that lets them in.
  const named = { tenantId: 'ops', user: { userId, name: 'Root' }, updateMask: 'name', takeOver: true };
  expect((await on.post('tessera.admin.v1.UsersService/Update', named, token)).status).toBe(200);
});

it('is offered nothing at their own page that would shut them out, nor a way in', async () => {
  const userId = await on.userId('ops', 'root');
  const own = made.cookieOf('ops', await on.tokenOfPerson('ops', userId), true, undefined, { userId });
  const acts = async (cookie: string) => {
    const { html } = await at.visit(`/o/ops/people/${userId}`, cookie);
    return [...html.matchAll(/href="[^"]*\/people\/[^/"]+\/(link|reset|lockdown|disable|delete)"/g)].map(
      ([, act]) => act,
    );
  };
  expect(await acts(own)).toEqual([]);
  expect(await acts(root)).toContain('lockdown');
});
