import { get } from 'node:http';
import { pageTable, signedInConsole } from '@tessera/console/testing';
import { Secret, systemRandom, opaqueValue } from '@tessera/kit';
import { adminRoles } from '@tessera/oauth';
import { hostileTexts } from '@tessera/pages/testing';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { callingByToken, declaredAccess, local, type BuiltService, type DescMethod } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { administered, call, type Administered } from './testing/administered.ts';

/** Who visits, with the role that limits them and the organization whose pages they open. */
const visitors = [
  { who: 'an operator', username: 'root', own: 'ops', of: 'acme', role: 'tessera.administrator' },
  {
    who: 'an administrator of a tenant',
    username: 'ivy',
    own: 'initech',
    of: 'initech',
    role: 'tessera.administrator',
  },
  { who: 'a help desk', username: 'helper', own: 'ops', of: 'acme', role: 'tessera.helpdesk' },
  { who: 'an auditor', username: 'auditor', own: 'ops', of: 'acme', role: 'tessera.auditor' },
  { who: 'somebody without a role', username: 'nobody', own: 'ops', of: 'acme', role: '' },
] as const;

interface Answer {
  readonly status: number;
  readonly location: string;
  readonly html: string;
}

let on: Administered;
let url: string;
let cookieOf: ReturnType<typeof signedInConsole>['cookieOf'];
let users: ReturnType<typeof local<typeof UsersService>>;
const cookies = new Map<string, string>();
const accessTokens: string[] = [];
const everythingSent: string[] = [];
const calls: string[] = [];

beforeAll(async () => {
  on = await administered();
  on.clock.set(Date.now());
  users = local(UsersService, on.directory, 'operator', silentLog());
  const counted: BuiltService = {
    ...on.admin,
    routes: on.admin.routes.map((route) => ({
      ...route,
      handlers: Object.fromEntries(
        Object.entries(route.handlers).map(([name, handler]) => [
          name,
          (...given: unknown[]): unknown => {
            calls.push(name);
            return (handler as (...args: unknown[]) => unknown)(...given);
          },
        ]),
      ),
    })),
  };
  const console = signedInConsole({
    url: 'http://127.0.0.1',
    proof: new Secret(opaqueValue('', systemRandom)),
    issuer: 'https://id.example',
    operatorTenant: 'ops',
    directory: local(DirectoryService, on.directory, 'admin', silentLog()),
    byToken: await callingByToken(counted.routes, silentLog()),
    messagesDirectory: undefined,
    log: silentLog(),
  });
  ({ cookieOf } = console);
  url = await on.serve(on.admin, console.pages);
  // What a file declares is changed there alone.
  const tenants = local(TenantsService, on.directory, 'operator', silentLog());
  for (const tenantId of ['acme', 'initech'])
    await tenants.update(
      { tenantId, tenant: { tenantId, name: tenantId }, updateMask: { paths: ['name'] }, takeOver: true },
      call(),
    );
  for (const { username, own } of visitors) {
    const token = await on.tokenOfPerson(own, await on.userId(own, username));
    accessTokens.push(token);
    cookies.set(username, cookieOf(own, token, own === 'ops'));
  }
});

async function visit(path: string, cookie: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${url}/console${path}`, {
    redirect: 'manual',
    ...init,
    headers: { accept: 'text/html', cookie, ...(init.headers as Record<string, string>) },
  });
  const html = await response.text();
  everythingSent.push(JSON.stringify([...response.headers]), html);
  return { status: response.status, location: response.headers.get('location') ?? '', html };
}

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

const personOf = { acme: 'ada', initech: 'ira' } as const;
let made = 0;

/** A path with records of its own in it: some pages delete them. */
async function pathFor(path: string, of: 'acme' | 'initech'): Promise<string> {
  made += 1;
  const names = {
    ':tenant': of,
    ':person': await on.userId(of, personOf[of]),
    ':kind': 'web',
    ...(path.includes(':application') && (await ownApplication(of, `own-${made}`))),
    ...(path.includes(':api') && (await ownApi(of, `https://api-${made}.example`))),
    ...(path.includes(':role') && (await ownRole(of, `role-${made}`))),
    ...(path.includes(':provider') && (await ownProvider(of))),
  };
  return path.replaceAll(/:[a-z]+/g, (name) => encodeURIComponent(names[name as keyof typeof names] ?? name));
}

async function ownApplication(tenantId: string, clientId: string) {
  const applications = local(ApplicationsService, on.directory, 'operator', silentLog());
  const application = {
    clientId,
    name: 'Own',
    type: 'confidential',
    grantTypes: ['authorization_code'],
    redirectUris: ['https://own.example/callback'],
  };
  await applications.create({ tenantId, application }, call());
  const { secretId } = await applications.createSecret({ tenantId, clientId }, call());
  return { ':application': clientId, ':secret': secretId };
}

async function ownApi(tenantId: string, audience: string) {
  const resources = local(ResourcesService, on.directory, 'operator', silentLog());
  const scope = `${new URL(audience).hostname}.read`;
  await resources.create(
    { tenantId, resource: { audience, name: 'API', scopes: [{ name: scope }] } },
    call(),
  );
  return { ':api': audience, ':scope': scope };
}

async function ownRole(tenantId: string, name: string) {
  const roles = local(RolesService, on.directory, 'operator', silentLog());
  await roles.create({ tenantId, role: { name } }, call());
  return { ':role': name };
}

async function ownProvider(tenantId: string) {
  const provider = { name: 'corp', ...ofProvider, clientSecret: 'the secret of corp' };
  const document = JSON.stringify({ tenants: [{ id: tenantId, providers: [provider] }] });
  const state = local(DeclaredStateService, on.directory, 'operator', silentLog());
  const keptKinds = ['resource', 'role', 'user', 'application'];
  await state.apply({ tenantId, document, owner: 'console', keptKinds, allowDelete: true }, call());
  return { ':provider': 'corp' };
}

const ofProvider = {
  preset: 'none',
  displayName: 'Corp',
  issuer: 'https://sso.corp.example',
  clientId: 'tessera',
};

/** What is filled in on a page. */
const filledIn = (path: string): Readonly<Record<string, string>> => {
  made += 1;
  const fields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    '/new-application/:kind': { name: 'Made', redirectUris: 'https://made.example/callback' },
    '/applications/:application/edit': { name: 'Other', redirectUris: 'https://own.example/callback' },
    '/new-api': { name: 'Made', audience: `https://made-${made}.example` },
    '/apis/:api/edit': { name: 'Other', tokenType: 'at+jwt', signingAlgorithm: 'RS256' },
    '/apis/:api/new-scope': { name: `made-${made}.read`, description: 'See it' },
    '/new-role': { name: `made-${made}` },
    '/new-provider': { name: `made-${made}`, ...ofProvider, clientSecret: 'a secret' },
    '/providers/:provider/edit': ofProvider,
    '/settings/looks': { name: 'Named anew', 'looks.accentColor': '#112233' },
    '/settings/policy': { authenticationPolicy: 'any', registration: 'closed' },
  };
  return fields[path.replace('/o/:tenant', '')] ?? {};
};

function opens(role: string, methods: readonly DescMethod[]): boolean {
  const held = adminRoles.get(role) ?? new Set();
  return methods.every((method) => declaredAccess(method).scopes.some((scope) => held.has(scope)));
}

const rows = pageTable.flatMap((row) => (row.who === 'anyone' ? [] : [{ ...row, who: row.who }]));

describe.each(visitors)('$who', ({ username, own, of, role }) => {
  const cookie = () => cookies.get(username) ?? '';

  it.each(rows)('sees $path as far as the API lets them', async ({ path, who: { sees } }) => {
    const { status, html, location } = await visit(await pathFor(path, of), cookie());
    // Others than operators have one organization.
    if (path === '/' && own !== 'ops') return expect([status, location]).toEqual([303, `/console/o/${own}`]);
    expect(status).toBe(opens(role, sees) ? 200 : 403);
    if (status === 403) expect(unescaped(html)).toMatch(/The access token does not have the scope admin\./);
  });

  it.each(rows.filter(({ page }) => page.act))(
    'does what $path offers as far as the API lets them',
    async ({ path, who: { sees, does = [] } }) => {
      const at = await pathFor(path, of);
      const shown = await visit(at, cookie());
      if (!opens(role, sees)) return expect(shown.status).toBe(403);
      const { status, html } = await submit(at, cookie(), { ...hiddenOf(shown.html), ...filledIn(path) });
      expect([200, 303].includes(status) ? 'done' : status).toBe(opens(role, does) ? 'done' : 403);
      if (status === 403)
        expect(unescaped(html)).toMatch(
          /The access token does not have (?:the scope|one of the scopes) admin\./,
        );
    },
  );
});

it('shows an administrator of a tenant no other organization', async () => {
  for (const path of ['/o/acme', '/o/acme/people', '/o/acme/applications']) {
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
    const { location } = await visit('/o/acme/people?q=ada', cookieOf('ops', 'expired', true, -1));
    expect(location).toBe('/console/start?organization=ops&next=%2Fo%2Facme%2Fpeople%3Fq%3Dada');
  });

  it('is told that the session is over once the API refuses the token', async () => {
    const { status, location } = await visit('/o/acme/people', cookieOf('ops', 'not a token', true));
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
      await on.database.query({
        name: 'test.hostile_session',
        text: `INSERT INTO authorize.session (session_id, token_hash, tenant_id, user_id, auth_time, created_at, last_seen_at, expires_at,
                 ip_address, user_agent_hash, user_agent)
               VALUES ($1::text, sha256(convert_to($1, 'UTF8')), 'globex', $2, now(), now(), now(), now() + interval '1 hour', $3, '', $3)`,
        values: [`hostile-${index}`, userId, text],
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
        `${person}/lockdown`,
        `${person}/link`,
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
    for (const path of ['/o/globex/people', '/o/globex/applications', '/o/globex/apis', '/o/globex'])
      expectOnlyOurs((await visit(path, cookie)).html);
    for (const text of hostileTexts) {
      const query = new URLSearchParams({ q: text, organization: text, next: text }).toString();
      for (const path of ['/o/globex/people', '/o/globex/applications', '/o/globex/apis', '/sign-in'])
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

it('sends no access token to a browser, in any answer to all of this (OAuth 2.0 for Browser-Based Apps, section 6.1)', () => {
  const sent = everythingSent.join('\n');
  expect(sent.length).toBeGreaterThan(10_000);
  for (const token of accessTokens)
    for (const part of token.split('.')) expect(sent.includes(part)).toBe(false);
});
