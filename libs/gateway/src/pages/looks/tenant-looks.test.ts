import { ConnectError, Code } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { fakeClock, testRuntime } from '@tessera/test-kit';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { openGateway, passwordStep } from '../../testing/fake-services.ts';

const logo = Buffer.from('a PNG image');
const acme = {
  name: 'Acme',
  logo,
  accentColor: '#0f766e',
  accentColorDark: '#5eead4',
  tosUri: 'https://acme.example/terms?a=1&b="2"',
  policyUri: 'https://acme.example/privacy',
};
const globex = {
  name: 'Globex',
  logo: Buffer.alloc(0),
  accentColor: '',
  accentColorDark: '',
  tosUri: '',
  policyUri: '',
};

const clock = fakeClock();
let known: Record<string, typeof acme>;
let isAvailable: boolean;
const gateway = openGateway(
  testRuntime({ clock }),
  {
    getTenantLooks({ tenantId }) {
      if (!isAvailable) throw new ConnectError('unavailable', Code.Unavailable);
      const looks = known[tenantId];
      if (looks === undefined) throw new ConnectError('unknown', Code.NotFound);
      return looks;
    },
    listTenantIssuers: () => ({ issuers: [{ tenantId: 'own', issuer: 'https://id.own.example' }] }),
    getApplication: ({ clientId }) => ({ tenant: { tenantId: clientId.split('-')[0] ?? '' } }),
    begin({ visit }) {
      if (visit.case !== 'page')
        throw new OAuthError('invalid_request', 'The redirect_uri is not registered.');
      return passwordStep({ interactionId: 'i', tenantId: visit.value.tenantId });
    },
  },
  { TESSERA_ISSUER: 'https://id.example' },
);
afterAll(() => gateway.close());

beforeEach(() => {
  known = { acme, globex, own: { ...acme, name: 'Own' } };
  isAvailable = true;
  clock.advance(2_000);
});

const get = async (url: string, host = 'id.example') =>
  gateway.app.inject({ url, headers: { host, accept: 'text/html' } });
const page = async (tenant: string) => (await get(`/approvals?tenant=${tenant}`)).body;
const links = (html: string) =>
  [...html.matchAll(/\/assets\/(?:looks|logo)[^"]*/g)].map(([href]) => href.replaceAll('&amp;', '&'));

describe('the looks of a tenant’s pages', () => {
  it('are its name, logo, colours and links, in files of our own', async () => {
    const answer = await get('/approvals?tenant=acme');
    expect(answer.headers['content-security-policy']).toContain("style-src 'self'; img-src 'self'");
    expect(answer.body).not.toMatch(/<style|style=/);
    expect(answer.body).toContain('<span class="brand">Acme</span>');
    expect(answer.body).toContain(
      'href="https://acme.example/terms?a=1&amp;b=&quot;2&quot;" target="_blank" rel="noopener noreferrer"',
    );
    const [style = '', image = ''] = links(answer.body);
    const css = await get(style);
    expect(css.headers['content-type']).toBe('text/css; charset=utf-8');
    expect(css.headers['cache-control']).toContain('immutable');
    expect(css.body).toBe(
      ':root { --accent: #0f766e; --accent-strong: #0c5e58; }\n' +
        '@media (prefers-color-scheme: dark) { :root { --accent: #5eead4; --accent-strong: #7eeedd; } }\n',
    );
    const png = await get(image);
    expect(png.rawPayload).toEqual(logo);
    expect(png.headers).toMatchObject({
      'content-type': 'image/png',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    });
  });

  it('are the usual ones for a tenant that declares none, or is not known', async () => {
    for (const tenant of ['globex', 'unknown']) {
      const html = await page(tenant);
      expect(links(html)).toEqual([]);
      expect(html).toContain('<svg class="logo"');
      expect(html).not.toContain('<footer>');
    }
  });

  it('are on pages that name no tenant too: that of the client, and of an issuer of the tenant’s own', async () => {
    const broken = await get('/authorize?client_id=acme-web&response_type=token');
    expect(broken.statusCode).toBe(400);
    expect(broken.body).toContain('<span class="brand">Acme</span>');
    expect((await get('/nothing?client_id=acme-web')).body).toContain('<span class="brand">Acme</span>');
    expect((await get('/nothing', 'id.own.example')).body).toContain('<span class="brand">Own</span>');
    expect((await get('/nothing')).body).toContain('<span class="brand">Tessera</span>');
  });

  it('are no other tenant’s: neither pages nor files at an issuer of its own have them', async () => {
    const [ofAcme = ''] = links(await page('acme'));
    expect((await get(ofAcme, 'id.own.example')).statusCode).toBe(404);
    expect((await get('/assets/looks.css?tenant=own')).statusCode).toBe(404);
    expect((await get('/nothing?client_id=acme-web', 'id.own.example')).body).not.toContain('Acme');
    expect((await get('/nothing?client_id=own-web')).body).not.toContain('Own');
    for (const tenant of ['', 'unknown', '../acme', 'acme%20']) {
      expect((await get(`/assets/logo.png?tenant=${tenant}`)).statusCode).toBe(404);
    }
  });

  it('change within a second, and browsers do not keep the file of an older page', async () => {
    const [before = ''] = links(await page('acme'));
    known['acme'] = { ...acme, accentColor: '#7f1d1d' };
    clock.advance(1_000);
    const [after = ''] = links(await page('acme'));
    expect(after).not.toBe(before);
    const old = await get(before);
    expect(old.headers['cache-control']).toBe('no-store');
    expect(old.body).toContain('#7f1d1d');
  });

  it('stay while the directory is unavailable, and without a copy the page comes all the same', async () => {
    await page('acme');
    isAvailable = false;
    clock.advance(1_000);
    expect(await page('acme')).toContain('Acme');
    known['late'] = acme;
    const without = await get('/approvals?tenant=late');
    expect(without.statusCode).toBe(200);
    expect(links(without.body)).toEqual([]);
  });

  it('are read once a second, however many pages there are', async () => {
    const before = gateway.requests('getTenantLooks').length;
    await Promise.all(Array.from({ length: 5 }, async () => page('acme')));
    expect(gateway.requests('getTenantLooks').length - before).toBe(1);
  });
});
