import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { loadLanguages } from '@tessera/languages';
import { launchChromium, runsEverything } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { styleSheet } from '@tessera/pages';
import { pageTemplates, samplePage, templates } from '../testing/sample-pages.ts';

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Page = Awaited<ReturnType<Browser['newPage']>>;
type Route = Parameters<Parameters<Page['route']>[1]>[0];

const origin = 'https://pages.example';
const languages = loadLanguages();
const schemes = ['light', 'dark'] as const;
const tags = ['en', 'de', 'ar'] as const;
/** What axe looks at: each scheme with and without the looks of a tenant; in `npm test` two of the six. */
const appearances = tags
  .flatMap((tag, index) =>
    schemes.map((scheme) => ({ tag, scheme, looked: (index % 2 === 0) === (scheme === 'light') })),
  )
  .filter(
    ({ tag, scheme }) =>
      runsEverything || `${tag} ${scheme}` === 'en light' || `${tag} ${scheme}` === 'ar dark',
  );
/** A phone, and a window of 1280 pixels at 200 % zoom. */
const sizes = { '360px': { width: 360, height: 640 }, '200%': { width: 640, height: 400 } } as const;

/** A window in which the navigation of the account is at the side; others look as at 200 %. */
const desk = { width: 1100, height: 700 };

/** What a tenant may declare. */
const looks = {
  tenant: { id: 'acme', name: 'Acme, a company with a long name' },
  tenantStyle: '/assets/looks.css',
  tenantLogo: '/assets/logo.png',
  tosUri: 'https://acme.example/terms',
  policyUri: 'https://acme.example/privacy',
};
const colors = styleSheet({ accentColor: '#0f766e', accentColorDark: '#5eead4' });

/** Where sheets of screenshots go; undefined to make none. */
const sheets = process.env['TESSERA_TEST_SHEETS'];

describe('every page in a real Chromium', () => {
  let browser: Browser;
  let page: Page;
  /** One that runs no script. */
  let plain: Page;
  let axe: string;
  let shown = '';
  const refused: string[] = [];

  beforeAll(async () => {
    if (sheets !== undefined) mkdirSync(sheets, { recursive: true });
    axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    browser = await launchChromium();
    page = await browser.newPage({ reducedMotion: 'reduce' });
    plain = await browser.newPage({ javaScriptEnabled: false });
    page.on(
      'console',
      (message) =>
        void (/Refused|Content Security Policy/.test(message.text()) && refused.push(message.text())),
    );
    const files = new Map(
      templates.assets.map(({ path, contentType, body }) => [path, { contentType, body }]),
    );
    files.set('/assets/looks.css', { contentType: 'text/css', body: Buffer.from(colors) });
    files.set('/assets/logo.png', { contentType: 'image/png', body: await readFile(logo) });
    const answer = async (route: Route) => {
      const file = files.get(new URL(route.request().url()).pathname);
      if (file !== undefined) return route.fulfill(file);
      if (!route.request().isNavigationRequest()) return route.abort();
      const policy =
        "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'";
      return route.fulfill({
        contentType: 'text/html; charset=utf-8',
        headers: { 'content-security-policy': policy },
        body: shown,
      });
    };
    await page.route('**/*', answer);
    await plain.route('**/*', answer);
  });
  afterAll(() => browser.close());

  const logo = fileURLToPath(new URL('../testing/logo.png', import.meta.url));

  async function show(template: string, tag: string, more: object = {}, where = page): Promise<void> {
    const html = templates.render(template, { ...samplePage(template), ...more }, languages.of(tag));
    // The keyboard begins at the top.
    shown = html.replaceAll(' autofocus', '');
    await where.goto(`${origin}/${template}`);
  }

  const wider = async () =>
    page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

  it.each(pageTemplates)('%s has no violation that axe finds', async (template) => {
    for (const { tag, scheme, looked } of appearances) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
      await page.setViewportSize(sizes['360px']);
      await show(template, tag, looked ? looks : {});
      await page.evaluate(axe);
      const found = await page.evaluate(
        'axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html).join(" ")))',
      );
      expect(found, `${tag} ${scheme}`).toEqual([]);
      expect(refused).toEqual([]);
    }
  });

  it.each(pageTemplates)(
    '%s needs no sideways scrolling, down to 320 pixels (WCAG 2.2 section 1.4.10)',
    async (template) => {
      for (const tag of tags) {
        await show(template, tag, looks);
        for (const size of [{ width: 320, height: 640 }, ...Object.values(sizes)]) {
          await page.setViewportSize(size);
          expect(await wider(), `${tag} ${size.width}`).toBe(0);
        }
      }
    },
  );

  it.each(pageTemplates)(
    '%s is used with the keyboard alone: each control in its order, and seen',
    async (template) => {
      await page.setViewportSize(sizes['200%']);
      await show(template, 'en', looks);
      const controls = (await page.evaluate(`
      (() => {
        const found = [...document.querySelectorAll('a[href], button, summary, input:not([type=hidden])')].filter((e) => e.checkVisibility());
        found.forEach((e, index) => e.setAttribute('data-order', index));
        return found.length;
      })()`)) as number;
      for (let index = 0; index < controls; index += 1) {
        await page.keyboard.press('Tab');
        const focus = await page.evaluate(
          '[document.activeElement.getAttribute("data-order"), getComputedStyle(document.activeElement).outlineStyle]',
        );
        expect(focus).toEqual([String(index), 'solid']);
      }
    },
  );

  it.each(pageTemplates)(
    '%s has buttons and links of the foot of 44 pixels, for fingers',
    async (template) => {
      await page.setViewportSize(sizes['360px']);
      await show(template, 'en', looks);
      const small = await page.evaluate(`
      [...document.querySelectorAll('button, a.button, footer a, .foot a, .under a')]
        .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 44)
        .map((e) => e.outerHTML)`);
      expect(small).toEqual([]);
    },
  );

  it.each(pageTemplates)('%s has its heading without script, and its forms are sent', async (template) => {
    await show(template, 'en', looks, plain);
    await plain.getByRole('heading', { level: 1 }).waitFor();
    for (const summary of await plain.locator('summary').all()) await summary.click();
    const forms = await plain.locator('form:visible').count();
    for (let at = 0; at < forms; at += 1) {
      if (at > 0) await show(template, 'en', looks, plain);
      for (const summary of at > 0 ? await plain.locator('summary').all() : []) await summary.click();
      const form = plain.locator('form:visible').nth(at);
      for (const input of await form.locator('input[required]:visible').all())
        await input.fill((await input.getAttribute('type')) === 'email' ? 'ada@acme.example' : '123456');
      const method = await form.getAttribute('method');
      const sent = plain.waitForRequest((request) => request.isNavigationRequest());
      await form.locator('button:visible').last().click();
      expect((await sent).method()).toBe(method?.toUpperCase());
    }
  });

  it.each(['en', 'ar'])(
    'approvals begin the message of an application where the page begins, in %s',
    async (tag) => {
      await show('approvals', tag, looks);
      const distances = await page.evaluate(`
      (() => {
        const [outer, inner] = ['blockquote', 'blockquote bdi'].map((of) => document.querySelector(of).getBoundingClientRect());
        return [inner.left - outer.left, outer.right - inner.right].map(Math.round);
      })()`);
      const [left = 0, right = 0] = distances as number[];
      expect(tag === 'ar' ? right : left).toBe(0);
      expect(tag === 'ar' ? left : right).toBeGreaterThan(0);
    },
  );

  it('recovery_codes are downloaded and copied with a button, and selected with one click', async () => {
    const codes = (samplePage('recovery_codes') as { readonly codes: readonly string[] }).codes;
    await show('recovery_codes', 'en', looks);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('recovery-codes.txt');
    expect((await readFile(await download.path(), 'utf8')).split('\n')).toEqual([
      expect.stringContaining('Save your recovery codes'),
      'pages.example',
      '',
      ...codes,
      '',
    ]);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`${codes.join('\n')}\n`);
    await page.locator('.codes code').first().click();
    const selected = (await page.evaluate('getSelection().toString()')) as string;
    expect(selected.split(/\s+/).filter((code) => code !== '')).toEqual(codes);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('button').count()).toBe(0);
    await page.emulateMedia({ media: 'screen' });
    expect(refused).toEqual([]);
  });

  it('moves nothing, so there is nothing to reduce (WCAG 2.2 section 2.3.3)', () => {
    for (const { body } of templates.assets)
      expect(String(body)).not.toMatch(/transition|animat|scroll-behavior/);
  });

  it.each(sheets === undefined ? [] : pageTemplates)(
    '%s has a sheet that somebody looks at',
    async (template) => {
      const shots: string[] = [];
      for (const [name, size] of Object.entries({ ...sizes, desk })) {
        for (const scheme of schemes) {
          for (const tag of tags) {
            await page.emulateMedia({ colorScheme: scheme });
            await page.setViewportSize(size);
            await show(template, tag, scheme === 'dark' || name === '200%' ? looks : {});
            const image = await page.screenshot({ fullPage: true, type: 'jpeg', quality: 75 });
            shots.push(
              `<figure><figcaption>${tag} ${scheme} ${name}</figcaption><img src="data:image/jpeg;base64,${image.toString('base64')}"></figure>`,
            );
          }
        }
      }
      const sheet = await browser.newPage({ viewport: { width: 1900, height: 900 } });
      await sheet.setContent(
        `<style>body{display:grid;grid-template-columns:repeat(6,1fr);gap:8px;font:14px sans-serif;background:#777}figure{margin:0}img{width:100%}</style>${shots.join('')}`,
      );
      await sheet.screenshot({ path: `${sheets}/${template.replace('/', '-')}.png`, fullPage: true });
      await sheet.close();
    },
  );
});
