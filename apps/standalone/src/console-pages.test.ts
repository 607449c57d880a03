import { get } from 'node:http';
import { gzipSync } from 'node:zlib';
import { adminRoles } from '@tessera/oauth';
import { hostileTexts } from '@tessera/pages/testing';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { declaredAccess, local, type DescMethod } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call } from './testing/administered.ts';
import { filledIn, ownRecords } from './testing/console-records.ts';
import {
  administratorRows as rows,
  consoleWorld,
  visitors,
  type ConsoleWorld,
} from './testing/console-world.ts';

let world: ConsoleWorld;
let on: ConsoleWorld['on'];
let users: ConsoleWorld['users'];
let visit: ConsoleWorld['visit'];
let cookies: ConsoleWorld['cookies'];
let calls: ConsoleWorld['calls'];
let noted: ConsoleWorld['noted'];
let url: string;
/** Whom the pages of an organization are about that change nothing. */
let standing: Readonly<Record<'acme' | 'initech', Awaited<ReturnType<ConsoleWorld['somebody']>>>>;

beforeAll(async () => {
  world = await consoleWorld();
  ({ on, users, visit, cookies, calls, noted, url } = world);
  standing = { acme: await world.somebody('acme'), initech: await world.somebody('initech') };
});

const unescaped = (text: string) =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

/** The hidden fields of the form of a page. */
function hiddenOf(html: string): Record<string, string> {
  const found = html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g);
  return Object.fromEntries([...found].map(([, name = '', value = '']) => [name, unescaped(value)]));
}

const submit = async (path: string, cookie: string, fields: Record<string, string>, headers = {}) =>
  visit(path, cookie, {
    method: 'POST',
    body: new URLSearchParams({ way: 'show', ...fields }),
    headers: { 'sec-fetch-site': 'same-origin', ...headers },
  });

/** A path with what stands there, and with records of its own in it. */
const pathFor = async (path: string, of: 'acme' | 'initech') =>
  world.pathOf(path, { ...standing[of], ...(await ownRecords(on, path, of)) });

type Visitor = (typeof visitors)[number];

/** Whether the API lets somebody call these methods; those that are for no single tenant are for operators. */
function opens({ role, own }: Visitor, methods: readonly DescMethod[]): boolean {
  const held = adminRoles.get(role) ?? new Set();
  return methods.every((method) => {
    const { scopes, tenantField } = declaredAccess(method);
    return scopes.some((scope) => held.has(scope)) && (tenantField !== undefined || own === 'ops');
  });
}

const patterns = rows.map(({ path, who }) => ({
  path,
  who,
  pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`),
}));

type Row = Pick<(typeof rows)[number], 'path' | 'who'>;

/** Whether the API lets somebody do what a page is for. Providers are looked at, too, by who may not test them. */
function isOffered(visitor: Visitor, { path, who: { sees, does = [] } }: Row): boolean {
  return opens(visitor, path === '/o/:tenant/providers/:provider' ? sees : [...sees, ...does]);
}

/** Whether a link leads to a page that is offered to somebody. */
function leadsOn(visitor: Visitor, to: string): boolean {
  const row = patterns.find(({ pattern }) => pattern.test(to));
  return row === undefined ? to === '/sign-out' : isOffered(visitor, row);
}

const refused = /The access token does not have (?:the scope|one of the scopes) admin\.|is for operators/;

describe.each(visitors)('$who', (visitor) => {
  const { username, own, of } = visitor;
  const cookie = () => cookies.get(username) ?? '';

  it.each(rows)('sees $path as far as the API lets them', async ({ path, who: { sees } }) => {
    const { status, html, location } = await visit(await pathFor(path, of), cookie());
    // Others than operators have one organization.
    if (!path.startsWith('/o/') && own !== 'ops')
      return expect([status, location]).toEqual([303, `/console/o/${own}${path === '/' ? '' : path}`]);
    expect(status).toBe(opens(visitor, sees) ? 200 : 403);
    if (status === 403) expect(unescaped(html)).toMatch(refused);
  });

  const offered = rows.filter(
    (row) => isOffered(visitor, row) && (own === 'ops' || row.path.startsWith('/o/')),
  );

  it.each(offered)('finds nothing on $path that the API would refuse them', async ({ path }) => {
    const { status, html } = await visit(await pathFor(path, of), cookie());
    expect(status).toBe(200);
    const links = [...html.matchAll(/<a [^>]*href="\/console([^"?]*)/g)].map(([, to = '']) => unescaped(to));
    expect(links).toContain('/sign-out');
    expect(links.filter((to) => !leadsOn(visitor, to))).toEqual([]);
  });

  it.each(rows.filter(({ page }) => page.act))(
    'does what $path offers as far as the API lets them',
    async ({ path, who: { sees, does = [] } }) => {
      // It may be gone afterwards.
      const person = await world.somebody(of, 'Somebody', path.includes(':approval'));
      const at = world.pathOf(path, { ...person, ...(await ownRecords(on, path, of)) });
      const shown = await visit(at, cookie());
      if (!opens(visitor, sees)) return expect(shown.status).toBe(403);
      const hidden = hiddenOf(shown.html);
      // A form on the page of a record is not even there for who may not send it.
      if (hidden['csrf'] === undefined) return expect(opens(visitor, does)).toBe(false);
      const { status, html } = await submit(at, cookie(), { ...hidden, ...filledIn(path) });
      expect([200, 303].includes(status) ? 'done' : status).toBe(opens(visitor, does) ? 'done' : 403);
      if (status === 403) expect(unescaped(html)).toMatch(refused);
    },
  );
});

it('names the organization on each of its pages, to who may see it', async () => {
  const shown = async (path: string, username: string) =>
    /<span class="of"><bdi>([^<]*)/.exec((await visit(path, cookies.get(username) ?? '')).html)?.[1];
  expect(await shown('/o/initech/people', 'ivy')).toBe('initech');
  // By its identifier where the console is no application of it.
  expect(await shown('/o/ops/people', 'root')).toBe('ops');
  expect(await shown('/o/ops/people', 'ivy')).toBeUndefined();
});

it('shows an administrator of a tenant no other organization', async () => {
  for (const path of ['', '/people', '/applications', '/sessions', '/access', '/audit', '/why'].map(
    (part) => `/o/acme${part}`,
  )) {
    const { status, html } = await visit(path, cookies.get('ivy') ?? '');
    expect([path, status]).toEqual([path, 403]);
    expect(unescaped(html)).toContain('the access token is for another tenant');
  }
});

describe('a form of the console', () => {
  const forms = rows.filter(({ page }) => page.act);

  it.each(forms)('at $path does nothing for another page, browser or origin', async ({ path }) => {
    const cookie = cookies.get('root') ?? '';
    const at = await pathFor(path, 'acme');
    const fields = hiddenOf((await visit(at, cookie)).html);
    const other = hiddenOf((await visit('/sign-out', cookie)).html);
    const before = await on.everything();
    const tries = [
      await submit(at, cookie, { ...fields, csrf: '' }),
      await submit(at, cookie, { ...fields, csrf: other['csrf'] ?? '' }),
      await submit(at, cookies.get('helper') ?? '', fields),
      await submit(at, cookie, fields, { 'sec-fetch-site': 'cross-site' }),
      await submit(at, cookie, fields, { origin: 'https://evil.example' }),
    ];
    expect(tries.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400]);
    expect(await on.everything()).toBe(before);
  });
});

describe('what people read of an application', () => {
  it('is written in the languages of people, and what was typed stays where it is refused', async () => {
    const cookie = cookies.get('root') ?? '';
    const clientId = 'acme-words';
    const applications = local(ApplicationsService, on.directory, 'operator', silentLog());
    const descriptions = { sv: 'Visar order' };
    await applications.create(
      {
        tenantId: 'acme',
        application: {
          clientId,
          name: 'Words',
          type: 'confidential',
          grantTypes: ['client_credentials'],
          descriptions,
        },
      },
      call(),
    );
    const path = `/o/acme/applications/${clientId}/words`;
    const shown = await visit(path, cookie);
    for (const tag of ['ar', 'de', 'en', 'sv']) expect(shown.html).toContain(`name="description ${tag}"`);
    const words = {
      description: 'Shows orders',
      'description de': 'Zeigt Bestellungen',
      'description sv': '',
    };
    const sent = { ...hiddenOf(shown.html), ...words, publisher: 'Acme' };
    const refused = await submit(path, cookie, { ...sent, homepage: 'http://acme.example' });
    expect(refused.status).toBe(400);
    expect(refused.html).toContain('value="Zeigt Bestellungen"');
    expect((await submit(path, cookie, { ...sent, homepage: 'https://acme.example/' })).status).toBe(200);
    expect(await applications.get({ tenantId: 'acme', clientId }, call())).toMatchObject({
      name: 'Words',
      description: 'Shows orders',
      descriptions: { de: 'Zeigt Bestellungen' },
      publisher: 'Acme',
      homepage: 'https://acme.example/',
    });
  });
});

describe('a visitor who is not signed in', () => {
  it.each(rows)('is asked to sign in at $path', async ({ path }) => {
    const { status, location } = await visit(await pathFor(path, 'acme'), '');
    expect(status).toBe(303);
    expect(location).toMatch(/^\/console\/sign-in(\?|$)/);
  });

  it('comes back to the page without being asked whose administrator they are once the token has expired', async () => {
    const { location } = await visit('/o/acme/people?q=ada', world.cookieOf('ops', 'expired', true, -1));
    expect(location).toBe('/console/start?organization=ops&next=%2Fo%2Facme%2Fpeople%3Fq%3Dada');
  });

  it('is told that the session is over once the API refuses the token', async () => {
    const { status, location } = await visit('/o/acme/people', world.cookieOf('ops', 'not a token', true));
    expect([status, location]).toEqual([303, '/console/signed-out']);
  });

  it('gets no code redeemed that this browser has not asked for (RFC 9700 section 4.7)', async () => {
    expect((await visit('/callback?code=abc&state=abc', '')).status).toBe(400);
  });

  it('is refused at a name that is not the address of the console, as one that leads to this machine', async () => {
    const { port } = new URL(url);
    const statusAt = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        get({ port, host: '127.0.0.1', path: '/console/sign-in', headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).on('error', reject);
      });
    expect(await statusAt(`127.0.0.1:${port}`)).toBe(200);
    for (const host of [`evil.example:${port}`, `localhost:${port}`, '127.0.0.1'])
      expect([host, await statusAt(host)]).toEqual([host, 400]);
  });
});

describe('a list', () => {
  it('keeps search and filter on every page, to the last, with one call for a page', async () => {
    for (let n = 0; n < 120; n += 1)
      await users.create(
        { tenantId: 'acme', user: { username: `paged.${n}`, name: `Paged Person ${n}`, status: 'disabled' } },
        call(),
      );
    const cookie = cookies.get('root') ?? '';
    const seen = new Set<string>();
    let pages = 0;
    for (let path = '/o/acme/people?q=paged&status=disabled'; path !== ''; pages += 1) {
      calls.length = 0;
      const { html } = await visit(path, cookie);
      expect(calls).toEqual(['list']);
      for (const [name] of html.matchAll(/Paged Person \d+/g)) seen.add(name);
      const next = /<a rel="next" href="\/console([^"]+)"/.exec(html)?.[1];
      path = next === undefined ? '' : unescaped(next);
      if (path !== '') expect(path).toMatch(/q=paged&status=disabled&page=/);
    }
    expect([seen.size, pages]).toEqual([120, 3]);
  });

  it('finds people who are locked, were never here, or are invited', async () => {
    const cookie = cookies.get('helper') ?? '';
    const { userId } = await users.create({ tenantId: 'acme', user: { username: 'invited.ivan' } }, call());
    await users.createPasswordLink({ tenantId: 'acme', userId, purpose: 'invitation' }, call());
    await users.create({ tenantId: 'acme', user: { username: 'locked.lena', status: 'locked' } }, call());
    for (const [query, found, left] of [
      ['invited=yes', 'invited.ivan', 'locked.lena'],
      ['status=locked', 'locked.lena', 'invited.ivan'],
    ] as const) {
      const { html } = await visit(`/o/acme/people?${query}`, cookie);
      expect(html).toContain(found);
      expect(html).not.toContain(left);
    }
    expect((await visit('/o/acme/people?seen=never&q=ivan', cookie)).html).toContain('invited.ivan');
  });
});

describe('the audit trail', () => {
  const failed = {
    event: 'auth.login.failed',
    outcome: 'failure',
    reason: 'wrong_credentials',
    tenantId: 'acme',
  };

  it('keeps its filters on every page, to the last, with one call for a page', async () => {
    const cookie = cookies.get('helper') ?? '';
    const ada = await on.userId('acme', 'ada');
    for (let n = 0; n < 120; n += 1)
      await noted({ ...failed, subject: ada, ipAddress: `192.0.2.${n}`, clientId: 'acme-own' });
    await noted({ ...failed, ipAddress: '198.51.100.1' });
    const seen = new Set<string>();
    let pages = 0;
    const asked = 'event=auth.login.failed&outcome=failure&application=acme-own&from=2026-01-01';
    for (let path = `/o/acme/audit?${asked}`; path !== ''; pages += 1) {
      calls.length = 0;
      const { html } = await visit(path, cookie);
      expect(calls).toEqual(['search']);
      for (const [address] of html.matchAll(/192\.0\.2\.\d+/g)) seen.add(address);
      expect(html).not.toContain('198.51.100.1');
      // Failed sign-ins have the person's name, which leads to the person.
      expect(html).toContain(`<a href="/console/o/acme/people/${ada}"><bdi>ada</bdi></a>`);
      const next = /<a rel="next" href="\/console([^"]+)"/.exec(html)?.[1];
      path = next === undefined ? '' : unescaped(next);
      for (const part of path === '' ? [] : asked.split('&')) expect(path).toContain(part);
    }
    expect([seen.size, pages]).toEqual([120, 3]);
  });

  it('is searched by the user name of a person and by day, and passes over what is no day', async () => {
    const cookie = cookies.get('helper') ?? '';
    const { person } = await world.somebody('acme', 'Grace Hopper');
    const day = Date.UTC(2025, 5, 3, 23, 59);
    await noted({ ...failed, subject: person, ipAddress: '203.0.113.9' }, day);
    const found = async (query: string) =>
      (await visit(`/o/acme/audit?${query}`, cookie)).html.includes('203.0.113.9');
    const user = await users.get({ tenantId: 'acme', userId: person }, call());
    expect(await found(`person=${user.username}&from=2025-06-03&until=2025-06-03`)).toBe(true);
    expect(await found(`person=${user.username}&from=2025-06-04`)).toBe(false);
    expect(await found(`person=${user.username}&until=2025-06-02`)).toBe(false);
    expect(await found(`person=${user.username}&from=yesterday&until=2025-13-45`)).toBe(true);
    expect(await found(`person=${user.username}&application=acme-own`)).toBe(false);
  });
});

describe('why something was refused', () => {
  it('is explained by the reference of the page: what was asked, which check failed, what to change', async () => {
    const cookie = cookies.get('helper') ?? '';
    const ada = await on.userId('acme', 'ada');
    const reference = '01KB0000000000000000000000';
    await noted({
      event: 'authorize.rejected',
      outcome: 'failure',
      reason: 'role_missing',
      tenantId: 'acme',
      subject: ada,
      clientId: 'acme-own',
      requestId: reference,
      details: { phase: 'redirect_uri', received: 'https://x.example/cb/', hint: 'It must equal a URI.' },
    });
    const { html } = await visit(`/o/acme/why?reference=${reference}`, cookie);
    for (const text of [
      'Request of an application refused',
      'redirect_uri',
      'https://x.example/cb/',
      'It must equal a URI.',
      'The application is for people with one of its roles.',
      `href="/console/o/acme/people/${ada}"`,
    ])
      expect(html).toContain(text);
    // Help desks see no applications, so that nothing leads them there.
    const link = 'href="/console/o/acme/applications/acme-own"';
    expect(html).not.toContain(link);
    const seen = await visit(`/o/acme/why?reference=${reference}`, cookies.get('root') ?? '');
    expect(seen.html).toContain(link);
    // Operators need not know the organization.
    expect((await visit(`/why?reference=${reference}`, cookie)).location).toBe(
      `/console/o/acme/why?reference=${reference}`,
    );
    expect((await visit(`/o/initech/why?reference=${reference}`, cookies.get('ivy') ?? '')).html).toContain(
      'Nothing is recorded with this reference.',
    );
    // Home asks for it.
    expect((await visit('/o/acme', cookie)).html).toContain('action="/console/o/acme/why"');
  });

  it('says when nobody has the name that was entered', async () => {
    await noted({
      event: 'auth.login.failed',
      outcome: 'failure',
      reason: 'wrong_credentials',
      tenantId: 'acme',
      requestId: 'r-unknown',
    });
    const { html } = await visit('/o/acme/why?reference=r-unknown', cookies.get('helper') ?? '');
    expect(html).toContain('Nobody here has the name that was entered.');
  });
});

describe('home', () => {
  it('shows sign-ins, failures and people in plots and in a table, by one call for each part', async () => {
    const tenantId = 'initech';
    const signedIn = { event: 'auth.login.succeeded', outcome: 'success', tenantId };
    for (const subject of ['usr_one', 'usr_one', 'usr_two']) await noted({ ...signedIn, subject });
    await noted({ event: 'auth.login.failed', outcome: 'failure', tenantId });
    calls.length = 0;
    const { html } = await visit('/o/initech', cookies.get('ivy') ?? '');
    expect(calls.toSorted()).toEqual([
      'countSignIns',
      'countTokens',
      'list',
      'list',
      'list',
      'search',
      'search',
    ]);
    expect(html.match(/<rect /g)).toHaveLength(5 * 24);
    expect(html).toMatch(/<bdi>3<\/bdi><\/td><td><bdi>1<\/bdi><\/td><td><bdi>2<\/bdi>/);
    expect((await visit('/o/initech?by=day', cookies.get('ivy') ?? '')).html.match(/<rect /g)).toHaveLength(
      5 * 7,
    );
  });

  it('names the providers that failed in the last day, once each, and the keys that sign to who may see them', async () => {
    const failed = { event: 'auth.login.failed', outcome: 'failure', tenantId: 'initech' };
    const unreachable = { ...failed, reason: 'provider_unreachable', details: { provider: 'corp' } };
    await noted({ ...unreachable, details: { provider: 'forgotten' } }, Date.now() - 2 * 86_400_000);
    for (let n = 0; n < 3; n += 1) await noted(unreachable, Date.now() - 60_000);
    // Refusals of other kinds hide none of them.
    for (let n = 0; n < 210; n += 1)
      await noted({ event: 'token.denied', outcome: 'failure', reason: 'expired', tenantId: 'initech' });
    await noted({ ...failed, reason: 'provider_denied', details: { provider: 'asked' } });
    const { html } = await visit('/o/initech', cookies.get('ivy') ?? '');
    expect(html).toMatch(/<bdi>corp<\/bdi>(?:<\/a>)?<\/td><td><bdi>3<\/bdi>/);
    expect(html).not.toMatch(/forgotten|asked/);
    expect(html).not.toContain('Signs since');
    expect((await visit('/o/initech', cookies.get('root') ?? '')).html).toContain('Signs since');
  });
});

describe('sessions and access', () => {
  it('are listed with one call for a page, and lead to the page that ends them', async () => {
    const cookie = cookies.get('helper') ?? '';
    const { person, session, application } = await world.somebody('acme');
    for (const [path, called, link] of [
      ['/o/acme/sessions', ['list'], `/console/o/acme/people/${person}/sessions/${session}/end`],
      ['/o/acme/access', ['list'], `/console/o/acme/people/${person}/access/${application}`],
    ] as const) {
      calls.length = 0;
      let found = '';
      for (let at: string | undefined = path; at !== undefined;) {
        calls.length = 0;
        const { html } = await visit(at, cookie);
        expect(calls).toEqual(called);
        found += html;
        const next: string | undefined = /<a rel="next" href="\/console([^"]+)"/.exec(html)?.[1];
        at = next && unescaped(next);
      }
      expect(found).toContain(link);
    }
  });

  it('ends what a leaver had', async () => {
    const cookie = cookies.get('root') ?? '';
    const leaver = await world.somebody('acme', 'Leaver');
    const path = `/o/acme/people/${leaver.person}/disable`;
    const shown = await visit(path, cookie);
    expect(shown.html).toContain('1 session ends');
    expect((await submit(path, cookie, hiddenOf(shown.html))).html).toContain('This person is disabled');
    const { html } = await visit(`/o/acme/people/${leaver.person}`, cookie);
    expect(html).toContain('This person is signed in nowhere.');
    expect(html).toContain(`/o/acme/people/${leaver.person}/enable`);
  });
});

describe('the roles of a person', () => {
  it('are given and taken, and none comes back that somebody else has taken meanwhile', async () => {
    const cookie = cookies.get('root') ?? '';
    const { role = '' } = await ownRecords(on, ':role', 'acme');
    const { person: userId } = await world.somebody('acme');
    const [path, field] = [`/o/acme/people/${userId}/roles`, `roles ${role}`];
    const stored = async () => users.get({ tenantId: 'acme', userId }, call());
    const given = async () => hiddenOf((await visit(path, cookie)).html);
    expect((await submit(path, cookie, { ...(await given()), [field]: role })).status).toBe(200);
    expect((await stored()).roles).toEqual([role]);
    // Shown with the role, which is then taken elsewhere.
    const earlier = await given();
    const taken = { userId, etag: (await stored()).etag, roles: [] };
    await users.update({ tenantId: 'acme', user: taken, updateMask: { paths: ['roles'] } }, call());
    const refused = await submit(path, cookie, { ...earlier, [field]: role });
    expect([refused.status, (await stored()).roles]).toEqual([409, []]);
    expect(refused.html).toContain(`name="${field}"`);
    expect(refused.html).not.toMatch(/type="checkbox"[^>]* checked/);
    expect((await submit(path, cookie, hiddenOf(refused.html))).status).toBe(200);
    expect((await stored()).roles).toEqual([]);
  });

  it('stay where a role was added while the form was shown as boxes, so that it would now be lines', async () => {
    const cookie = cookies.get('root') ?? '';
    const { role = '' } = await ownRecords(on, ':role', 'acme');
    const { person: userId } = await world.somebody('acme');
    const path = `/o/acme/people/${userId}/roles`;
    const boxes = { ...hiddenOf((await visit(path, cookie)).html), [`roles ${role}`]: role };
    for (let n = 0; n < 41; n += 1) await ownRecords(on, ':role', 'acme');
    expect((await visit(path, cookie)).html).toContain('<textarea id="roles"');
    expect((await submit(path, cookie, boxes)).status).toBe(200);
    expect((await users.get({ tenantId: 'acme', userId }, call())).roles).toEqual([role]);
  });
});

describe('what others have stored', () => {
  it('is text on every page that shows it', async () => {
    const cookie = cookies.get('root') ?? '';
    const applications = local(ApplicationsService, on.directory, 'operator', silentLog());
    const resources = local(ResourcesService, on.directory, 'operator', silentLog());
    for (const [index, hostile] of hostileTexts.entries()) {
      const text = `x${hostile}`;
      const { userId } = await users.create(
        { tenantId: 'globex', user: { username: `hostile.${index}`, name: text } },
        call(),
      );
      const sessionId = await on.session({ tenantId: 'globex', userId, userAgent: text });
      await noted({
        event: 'auth.login.failed',
        outcome: 'failure',
        reason: text,
        tenantId: 'globex',
        subject: userId,
        clientId: text,
        requestId: `hostile-${index}`,
        ipAddress: text,
        actor: { type: 'user', id: text },
        details: { [text]: text, phase: text, received: text, hint: text },
      });
      await on.database.query({
        name: 'test.hostile_consent',
        text: `INSERT INTO authorize.consent (tenant_id, user_id, client_id, scopes, granted_at, signed_in_at)
               VALUES ('globex', $1, $2, ARRAY[$3], now(), now())`,
        values: [userId, `hostile-${index}`, text],
      });
      const clientId = `hostile-${index}`;
      await applications.create(
        {
          tenantId: 'globex',
          application: {
            clientId,
            name: text,
            description: text,
            descriptions: { de: text },
            publisher: text,
            type: 'confidential',
            grantTypes: ['client_credentials'],
          },
        },
        call(),
      );
      const audience = `https://hostile-${index}.example`;
      const scopes = [{ name: `hostile-${index}`, description: text, descriptions: { de: text } }];
      await resources.create({ tenantId: 'globex', resource: { audience, name: text, scopes } }, call());
      const api = `/o/globex/apis/${encodeURIComponent(audience)}`;
      const person = `/o/globex/people/${userId}`;
      const application = `/o/globex/applications/${clientId}`;
      for (const path of [
        person,
        `${person}/edit`,
        `${person}/lockdown`,
        `${person}/link`,
        `${person}/sessions/${sessionId}/end`,
        `${person}/sign-out`,
        `${person}/access/${clientId}`,
        `${person}/access`,
        `${person}/approvals`,
        `${person}/disable`,
        `${person}/delete`,
        `/o/globex/why?reference=hostile-${index}`,
        `/o/globex/audit?person=hostile.${index}`,
        application,
        `${application}/secret`,
        `${application}/words`,
        `${application}/edit`,
        `${application}/delete`,
        api,
        `${api}/edit`,
        `${api}/scopes/hostile-${index}`,
        `${api}/scopes/hostile-${index}/remove`,
      ]) {
        const { status, html } = await visit(path, cookie);
        expect([path, status]).toEqual([path, 200]);
        expectOnlyOurs(html);
      }
    }
    for (const part of ['', '/people', '/applications', '/apis', '/audit', '/sessions', '/access']) {
      const { status, html } = await visit(`/o/globex${part}`, cookie);
      expect([part, status]).toEqual([part, 200]);
      expectOnlyOurs(html);
    }
    for (const text of hostileTexts) {
      const given = {
        q: text,
        organization: text,
        next: text,
        person: text,
        application: text,
        reference: text,
      };
      const query = new URLSearchParams({ ...given, from: text, until: text }).toString();
      for (const path of [
        '/sign-in',
        ...[
          'people',
          'deleted-people',
          'applications',
          'deleted-applications',
          'apis',
          'audit',
          'sessions',
          'access',
          'why',
        ].map((part) => `/o/globex/${part}`),
      ])
        expectOnlyOurs((await visit(`${path}?${query}`, cookie)).html);
    }
  });
});

/** Nothing that runs, loads or leads elsewhere is in a page but what our templates have. */
function expectOnlyOurs(html: string): void {
  expect(html).not.toMatch(/<(?:iframe|img|style|base|math|meta http-equiv)/i);
  for (const [tag] of html.matchAll(/<[a-z][^>]*>/gi))
    expect(tag.replaceAll(/"[^"]*"/g, '""')).not.toMatch(/\son\w+\s*=/i);
  for (const [script] of html.matchAll(/<script[^>]*>/gi))
    expect(script).toMatch(/^<script src="\/console\/assets\//);
  for (const [, target = ''] of html.matchAll(/<(?:form|link)[^>]*(?:action|href)="([^"]*)"/gi))
    expect(target).toMatch(/^\/console\//);
  expect(html).not.toMatch(/href="\s*javascript:/i);
}

it('is shown in the language of the browser, and strictly', async () => {
  const cookie = cookies.get('root') ?? '';
  const shown = async (language: string) =>
    (await visit('/o/acme/people', cookie, { headers: { 'accept-language': language } })).html;
  expect(await shown('de')).toContain('<h1>Personen</h1>');
  expect(await shown('ar')).toMatch(/<html lang="ar" dir="rtl"[\s\S]*<h1>الأشخاص<\/h1>/);
  const { headers } = await fetch(`${url}/console/o/acme/people`, { headers: { cookie } });
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'; connect-src 'self'; form-action 'self'",
  );
  expect(headers.get('cache-control')).toBe('no-store');
});

it('has no page of more than 60 KB in all, compressed, with its style and scripts', async () => {
  const cookie = cookies.get('root') ?? '';
  const weights = new Map<string, number>();
  const weightOf = async (address: string) => {
    const known = weights.get(address);
    if (known !== undefined) return known;
    const { html } = await visit(address, cookie);
    const weight = gzipSync(html).length;
    weights.set(address, weight);
    return weight;
  };
  const pages: { readonly path: string; readonly weight: number }[] = [];
  for (const { path } of rows) {
    const { status, html } = await visit(await pathFor(path, 'acme'), cookie);
    expect([path, status]).toEqual([path, 200]);
    const assets = [...html.matchAll(/(?:src|href)="\/console(\/assets\/[^"]+)"/g)];
    const weighed = await Promise.all(assets.map(async ([, address = '']) => weightOf(address)));
    pages.push({ path, weight: weighed.reduce((sum, each) => sum + each, gzipSync(html).length) });
  }
  const heaviest = pages.toSorted((one, other) => other.weight - one.weight).slice(0, 5);
  if (process.env['TESSERA_TEST_SIZES'] !== undefined) process.stdout.write(`${JSON.stringify(heaviest)}\n`);
  expect(
    pages.filter(({ weight }) => weight > 60 * 1024),
    JSON.stringify(heaviest),
  ).toEqual([]);
});

it('sends no access token to a browser, in any answer to all of this (OAuth 2.0 for Browser-Based Apps, section 6.1)', () => {
  const sent = world.everythingSent.join('\n');
  expect(sent.length).toBeGreaterThan(10_000);
  for (const token of world.accessTokens)
    for (const part of token.split('.')) expect(sent.includes(part)).toBe(false);
});
