import { isSignedInThere, signedInConsole } from '@tessera/console/testing';
import { opaqueValue, Secret, systemRandom } from '@tessera/kit';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { callingByToken, local, type BuiltService } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { administered, call, type Administered } from './testing/administered.ts';
import { consoleBrowser } from './testing/console-browser.ts';

let on: Administered;
let at: ReturnType<typeof consoleBrowser>;
let cookieOf: ReturnType<typeof signedInConsole>['cookieOf'];
let token: string;
let root: string;
let applications: ReturnType<typeof local<typeof ApplicationsService>>;
let resources: ReturnType<typeof local<typeof ResourcesService>>;
const calls: string[] = [];

const consoleDeps = async (admin: BuiltService) => ({
  url: 'http://127.0.0.1',
  proof: new Secret(opaqueValue('', systemRandom)),
  issuer: 'https://id.example',
  operatorTenant: 'ops',
  directory: local(DirectoryService, on.directory, 'admin', silentLog()),
  byToken: await callingByToken(admin.routes, silentLog()),
  messagesDirectory: undefined,
  log: silentLog(),
});

/** The administration, which notes the methods that are called. */
const noted = (admin: BuiltService): BuiltService => ({
  ...admin,
  routes: admin.routes.map((route) => ({
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
});

beforeAll(async () => {
  on = await administered();
  on.clock.set(Date.now());
  applications = local(ApplicationsService, on.directory, 'operator', silentLog());
  resources = local(ResourcesService, on.directory, 'operator', silentLog());
  const made = signedInConsole(await consoleDeps(noted(on.admin)));
  ({ cookieOf } = made);
  at = consoleBrowser(await on.serve(on.admin, made.pages));
  token = await on.tokenOfPerson('ops', await on.userId('ops', 'root'));
  root = cookieOf('ops', token, true);
});

const fields = { tenantId: 'acme', type: 'confidential', grantTypes: ['client_credentials'] };

async function application(clientId: string, more: object = {}) {
  const { tenantId, ...rest } = fields;
  return applications.create(
    { tenantId, application: { clientId, name: clientId, ...rest, ...more } },
    call(),
  );
}

describe('the list of applications', () => {
  it('keeps its filters on every page, to the last, with one call for a page', async () => {
    for (let n = 0; n < 120; n += 1)
      await application(`paged-${n}`, { status: 'disabled', name: `Paged ${n}` });
    await application('paged-web', {
      status: 'disabled',
      grantTypes: ['authorization_code'],
      redirectUris: ['https://app.example/cb'],
    });
    const seen = new Set<string>();
    let pages = 0;
    const first = '/o/acme/applications?q=paged&kind=service&status=disabled&owner=api';
    for (let path = first; path !== ''; pages += 1) {
      calls.length = 0;
      const { html } = await at.visit(path, root);
      expect(calls).toEqual(['list']);
      for (const [, name = ''] of html.matchAll(/applications\/(paged-[\w-]+)"/g)) seen.add(name);
      path = /<a rel="next" href="\/console([^"]+)"/.exec(html)?.[1] ?? '';
      if (path !== '') expect(path).toMatch(/q=paged&kind=service&status=disabled&owner=api&page=/);
    }
    expect([seen.size, pages, seen.has('paged-web')]).toEqual([120, 3, false]);
  });

  it('tells twenty applications apart by kind, owner, state and last use', async () => {
    await application('told', { name: 'Told' });
    const { value } = await applications.createSecret({ tenantId: 'acme', clientId: 'told' }, call());
    expect(value).not.toBe('');
    await on.database.query({
      name: 'test.use_secret',
      text: `UPDATE directory.application_secret SET last_used_at = '2026-03-04T05:06:07Z' WHERE client_id = 'told'`,
      values: [],
    });
    const { html } = await at.visit('/o/acme/applications?q=told', root);
    expect(html).toMatch(/Told<\/bdi>[^]*Service[^]*owner=api[^]*Active[^]*2026-03-04T05:06:07/);
    // An owner narrows the list, and a click takes the filter away again.
    const narrowed = await at.visit('/o/acme/applications?q=acme&owner=file', root);
    expect(narrowed.html).toContain('acme-robot');
    expect(narrowed.html).toContain('href="/console/o/acme/applications?q=acme" aria-current="true"');
  });
});

describe('a new application', () => {
  it('shows its secret once, and how a program uses it', async () => {
    const path = '/o/acme/new-application/web';
    const sent = {
      name: 'Größe & Co',
      redirectUris: 'https://app.acme.example/callback',
      logoutRedirectUris: '',
    };
    const made = await at.submit(path, root, sent);
    expect([made.status, made.html]).toEqual([200, expect.stringContaining('The application is ready')]);
    const clientId = /groe-co-[0-9a-f]{8}|gro-e-co-[0-9a-f]{8}/.exec(made.html)?.[0] ?? '';
    const secret = /<code id="secret">([^<]+)</.exec(made.html)?.[1] ?? 'none';
    expect(made.html).toContain(`new URL('https://id.example'), '${clientId}'`);
    const shown = await at.visit(`/o/acme/applications/${clientId}`, root);
    expect(shown.html).toContain(`new URL('https://id.example'), '${clientId}'`);
    expect(shown.html).not.toContain(secret);
    expect(await applications.get({ tenantId: 'acme', clientId }, call())).toMatchObject({
      name: 'Größe & Co',
      kind: 'web',
      owner: 'api',
      type: 'confidential',
    });
  });

  it('keeps what was typed, and says beside the field what is wrong with it', async () => {
    const path = '/o/acme/new-application/single-page';
    const sent = { name: 'Shop', redirectUris: 'http://app.acme.example/callback', clientId: 'shop-1' };
    const refused = await at.submit(path, root, sent);
    expect(refused.status).toBe(400);
    expect(refused.html).toMatch(
      /<textarea[^>]*aria-invalid="true"[^>]*>http:\/\/app\.acme\.example\/callback</,
    );
    expect(refused.html).toContain('id="redirectUris-problem"');
    expect(refused.html).toContain('value="shop-1"');
  });

  it.each([
    ['native', 'http://127.0.0.1/', 'any'],
    ['single-page', 'http://localhost:5173/', 'exact'],
  ])('of the kind %s is one when it is read again', async (kind, redirectUris, loopbackPorts) => {
    const clientId = `kind-${kind}`;
    const sent = { name: kind, clientId, redirectUris };
    expect((await at.submit(`/o/acme/new-application/${kind}`, root, sent)).status).toBe(200);
    expect(await applications.get({ tenantId: 'acme', clientId }, call())).toMatchObject({
      kind,
      loopbackPorts,
    });
  });
});

describe('a change of an application', () => {
  it('takes a scope away, and a deletion says first what ends, by name', async () => {
    const audience = 'https://shop.acme.example';
    const resource = { audience, name: 'Shop', scopes: [{ name: 'shop.read' }, { name: 'shop.write' }] };
    await resources.create({ tenantId: 'acme', resource }, call());
    const scopes = ['openid', 'offline_access', 'shop.read', 'shop.write'];
    const grants = { type: 'public', grantTypes: ['device_code', 'refresh_token'] };
    await application('shop-tv', { ...grants, scopes });
    await on.tokensOfPerson('acme', await on.userId('acme', 'ada'), scopes, 'shop-tv');
    const path = '/o/acme/applications/shop-tv';
    const sent = { name: 'Shop TV', 'scopes shop.read': 'shop.read' };
    expect((await at.submit(`${path}/edit`, root, sent)).html).toContain('The application is changed');
    const changed = await applications.get({ tenantId: 'acme', clientId: 'shop-tv' }, call());
    expect([changed.name, changed.scopes]).toEqual(['Shop TV', ['openid', 'offline_access', 'shop.read']]);
    const asked = await at.visit(`${path}/delete`, root);
    expect(asked.html).toMatch(/1 application loses its access[^]*among others: ada/);
    expect((await at.confirm(`${path}/delete`, root, asked)).html).toContain('The application is deleted');
    await expect(applications.get({ tenantId: 'acme', clientId: 'shop-tv' }, call())).rejects.toThrow();
  });

  it('of another owner is not offered, and where it is declared is said', async () => {
    for (const page of ['', '/edit', '/words']) {
      const { html } = await at.visit(`/o/acme/applications/acme-robot${page}`, root);
      expect([page, html]).toEqual([page, expect.stringMatching(/file\u2069?\u2069? manages this record/)]);
      expect(html).not.toContain('type="submit"');
    }
  });
});

describe('an API', () => {
  it('says who uses it, and what people read of its scopes in their languages', async () => {
    const [audience, scope] = ['https://stock.acme.example', 'stock.read'];
    const path = `/o/acme/apis/${encodeURIComponent(audience)}`;
    const made = await at.submit('/o/acme/new-api', root, { name: 'Stock', audience, scopes: `${scope}\n` });
    expect(made.html).toContain('The API is ready');
    const words = { description: 'See the stock', 'descriptions de': 'Den Bestand sehen' };
    expect((await at.submit(`${path}/scopes/${scope}`, root, words)).status).toBe(303);
    await application('stock-reader', { scopes: [scope] });
    const { html } = await at.visit(path, root);
    expect(html).toMatch(/See the stock[^]*>de<[^]*Applications that use it[^]*stock-reader/);
    // While an application uses the scope it stays, and the page says so.
    const kept = await at.visit(`${path}/scopes/${scope}/remove`, root);
    expect([kept.status, kept.html]).toEqual([409, expect.stringContaining('stock-reader')]);
  });
});

describe('the looks', () => {
  it('are shown with what was typed before they are saved, in colours alone', async () => {
    const { html } = await at.visit('/looks.css?light=%23112233&dark=red%3B%7D', root);
    expect(html).toMatch(/\.preview \{ --accent: #112233/);
    expect(html).not.toContain('red');
  });
});

describe('who signed in a while ago', () => {
  const minutes = (count: number) => Date.now() - count * 60_000;
  const someone = (authTime: number) => cookieOf('ops', token, true, undefined, { authTime });

  it('signs in again before a page that gives rights or destroys, and nowhere else', async () => {
    await application('old-sign-in');
    const path = '/o/acme/applications/old-sign-in/delete';
    expect((await at.visit(path, someone(minutes(14)))).status).toBe(200);
    const old = await at.visit(path, someone(minutes(16)));
    const back = new URLSearchParams({ organization: 'ops', next: path, fresh: 'yes' }).toString();
    expect([old.status, old.location]).toEqual([303, `/console/start?${back}`]);
    expect((await at.visit('/o/acme/applications/old-sign-in', someone(minutes(600)))).status).toBe(200);
  });

  it('may send a form that was opened in time, but not long after', async () => {
    await application('late-form');
    const path = '/o/acme/applications/late-form/disable';
    const sentAt = async (count: number) => {
      const cookie = someone(minutes(count));
      return at.visit(path, cookie, { method: 'POST', body: new URLSearchParams({}) });
    };
    // It is refused as a form that is not this page's, so that it got past the sign-in.
    expect((await sentAt(25)).status).toBe(400);
    expect((await sentAt(31)).location).toContain('fresh=yes');
  });
});

describe('who has signed out where they signed in', () => {
  it('is out of the console with the next page, and nobody else is', async () => {
    const userId = await on.userId('ops', 'second');
    const accessToken = await on.tokenOfPerson('ops', userId);
    const own = signedInConsole({ ...(await consoleDeps(on.admin)), isSignedIn: isSignedInThere });
    const browser = consoleBrowser(await on.serve(on.admin, own.pages));
    const session = async (sessionId: string, ends: string) =>
      on.database.query({
        name: 'test.session_of',
        text: `INSERT INTO authorize.session (session_id, token_hash, tenant_id, user_id, auth_time, created_at, last_seen_at, expires_at,
                 ip_address, user_agent_hash)
               VALUES ($1::text, sha256(convert_to($1, 'UTF8')), 'ops', $2, now(), now(), now(), now() + $3::interval, '192.0.2.7', '')`,
        values: [sessionId, userId, ends],
      });
    await session('00000000-0000-4000-8000-000000000001', '1 hour');
    const cookie = (sessionId: string) =>
      own.cookieOf('ops', accessToken, true, undefined, { userId, sessionId });
    const here = cookie('00000000-0000-4000-8000-000000000001');
    const gone = cookie('00000000-0000-4000-8000-000000000002');
    expect((await browser.visit('/o/acme/people', here)).status).toBe(200);
    const out = await browser.visit('/o/acme/people', gone);
    expect([out.status, out.location]).toEqual([
      303,
      '/console/start?organization=ops&next=%2Fo%2Facme%2Fpeople',
    ]);
    // The session of the console is over too: it does not come back by itself.
    expect((await browser.visit('/o/acme/people', gone)).location).toContain('/console/sign-in?');
  });
});

it('a policy that signs people out asks first', async () => {
  const tenants = local(TenantsService, on.directory, 'operator', silentLog());
  await tenants.create({ tenantId: 'policy', tenant: { name: 'Policy' } }, call());
  const path = '/o/policy/settings/policy';
  const sent = { authenticationPolicy: 'second-factor', registration: 'closed', registrationDomains: '' };
  // Nobody is there, so that nothing ends and nothing is asked.
  expect((await at.submit(path, root, sent)).html).toContain('The policy is changed');
  expect((await tenants.get({ tenantId: 'policy' }, call())).authenticationPolicy).toBe('second-factor');
});
