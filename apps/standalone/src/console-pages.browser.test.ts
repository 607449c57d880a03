import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { pageTable } from '@tessera/console/testing';
import { launchChromium, runsEverything } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleWorld, type ConsoleWorld } from './testing/console-world.ts';

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Page = Awaited<ReturnType<Browser['newPage']>>;

const tags = ['en', 'de', 'ar'] as const;
const schemes = ['light', 'dark'] as const;
const appearances = tags
  .flatMap((tag) => schemes.map((scheme) => ({ tag, scheme })))
  .filter(({ tag, scheme }) => runsEverything || ['en light', 'ar dark'].includes(`${tag} ${scheme}`));
/** A phone, a window of 1280 pixels at 200 % zoom, and a desk. */
const sizes = {
  '360px': { width: 360, height: 640 },
  '200%': { width: 640, height: 400 },
  desk: { width: 1280, height: 800 },
} as const;
/** Bytes of a page with everything that it loads, compressed. */
const largest = 60 * 1024;

/** Where sheets of screenshots go; undefined to make none. */
const sheets = process.env['TESSERA_TEST_SHEETS'];

// One that has come from the issuer, and those that send the browser there, show nothing.
const rows = pageTable.filter(({ path }) => !['/start', '/callback'].includes(path));

describe('every page of the console in a real Chromium', () => {
  let world: ConsoleWorld;
  let browser: Browser;
  let axe: string;
  let about: Awaited<ReturnType<ConsoleWorld['somebody']>>;
  const refused: string[] = [];
  const sizesOf: string[] = [];

  beforeAll(async () => {
    if (sheets !== undefined) mkdirSync(sheets, { recursive: true });
    world = await consoleWorld();
    about = await world.somebody('acme', 'Ada Lovelace, Countess of a Very Long Name', true);
    for (let at = 0; at < 12; at += 1)
      await world.noted(
        {
          event: at % 3 === 0 ? 'auth.login.failed' : 'auth.login.succeeded',
          outcome: at % 3 === 0 ? 'failure' : 'success',
          reason: at % 3 === 0 ? 'wrong_credentials' : '',
          tenantId: 'acme',
          subject: about.person,
          clientId: about.application,
          requestId: 'r-shown',
          ipAddress: '2001:db8:85a3::8a2e:370:7334',
          details: { method: 'pwd', phase: 'password' },
        },
        Date.now() - at * 3_000_000,
      );
    axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    browser = await launchChromium();
  });
  afterAll(() => {
    if (sheets !== undefined) writeFileSync(`${sheets}/sizes.txt`, `${sizesOf.join('\n')}\n`);
  });

  /** A page of an operator in a language; two of them share nothing. */
  async function opened(
    path: string,
    {
      tag = 'en',
      scheme = 'light',
      size = 'desk',
      script = true,
    }: {
      readonly tag?: string;
      readonly scheme?: (typeof schemes)[number];
      readonly size?: keyof typeof sizes;
      readonly script?: boolean;
    } = {},
  ): Promise<Page> {
    const context = await browser.newContext({
      locale: tag,
      colorScheme: scheme,
      viewport: sizes[size],
      javaScriptEnabled: script,
      reducedMotion: 'reduce',
    });
    const [name = '', value = ''] = (world.cookies.get('root') ?? '').split('=');
    await context.addCookies([{ name, value, url: world.url }]);
    const page = await context.newPage();
    page.on(
      'console',
      (message) =>
        void (/Refused|Content Security Policy/.test(message.text()) && refused.push(message.text())),
    );
    const query = path.endsWith('/why') ? '?reference=r-shown' : '';
    await page.goto(`${world.url}/console${world.pathOf(path, about)}${query}`);
    return page;
  }

  const closed = async (page: Page) => page.context().close();

  it.each(rows)('$path has no violation that axe finds', async ({ path }) => {
    for (const appearance of appearances) {
      const page = await opened(path, { ...appearance, size: '360px' });
      await page.evaluate(axe);
      const found = await page.evaluate(
        'axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html).join(" ")))',
      );
      expect(found, `${appearance.tag} ${appearance.scheme}`).toEqual([]);
      expect(refused).toEqual([]);
      await closed(page);
    }
  });

  it.each(rows)(
    '$path needs no sideways scrolling, down to 320 pixels (WCAG 2.2 section 1.4.10)',
    async ({ path }) => {
      for (const tag of tags) {
        const page = await opened(path, { tag });
        for (const size of [{ width: 320, height: 640 }, ...Object.values(sizes)]) {
          await page.setViewportSize(size);
          const wider = await page.evaluate(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          );
          expect(wider, `${tag} ${size.width}`).toBe(0);
        }
        await closed(page);
      }
    },
  );

  it.each(rows)(
    '$path is used with the keyboard alone: each control in its order, and seen',
    async ({ path }) => {
      const page = await opened(path, { size: '200%' });
      const controls = (await page.evaluate(`
      (() => {
        document.activeElement.blur();
        const found = [...document.querySelectorAll('a[href], button, summary, [tabindex="0"], input:not([type=hidden], [type=date]), select, textarea')].filter((e) => e.checkVisibility());
        found.forEach((e, index) => e.setAttribute('data-order', index));
        // The parts of a date are stops of their own.
        document.querySelectorAll('input[type=date]').forEach((e) => { e.tabIndex = -1; });
        return found.length;
      })()`)) as number;
      expect(controls).toBeGreaterThan(0);
      for (let index = 0; index < controls; index += 1) {
        await page.keyboard.press('Tab');
        const focus = await page.evaluate(
          '[document.activeElement.getAttribute("data-order"), getComputedStyle(document.activeElement).outlineStyle]',
        );
        expect(focus).toEqual([String(index), 'solid']);
      }
      await closed(page);
    },
  );

  it.each(rows)('$path shows the same without script, and is small', async ({ path, page: { act } }) => {
    const bytes = new Map<string, number>();
    const withScript = await opened(path);
    withScript.on('response', (response) => {
      void response.body().then((body) => bytes.set(response.url(), gzipSync(body).length));
    });
    await withScript.reload({ waitUntil: 'networkidle' });
    const heading = await withScript.locator('h1').textContent();
    await closed(withScript);
    const total = [...bytes.values()].reduce((sum, each) => sum + each, 0);
    sizesOf.push(`${path}\t${total}`);
    expect(total).toBeGreaterThan(1000);
    expect(total).toBeLessThan(largest);
    const page = await opened(path, { script: false });
    expect(await page.locator('h1').textContent()).toBe(heading);
    // No dead end: something leads on, and a form can be sent.
    expect(await page.locator('a[href], button[type=submit]').count()).toBeGreaterThan(0);
    if (act !== undefined)
      expect(await page.locator('form[method=post] button[type=submit]').count()).toBeGreaterThan(0);
    await closed(page);
  });

  it.each(sheets === undefined ? [] : rows)('$path has a sheet that somebody looks at', async ({ path }) => {
    const shots: string[] = [];
    for (const size of Object.keys(sizes) as (keyof typeof sizes)[])
      for (const scheme of schemes)
        for (const tag of tags) {
          const page = await opened(path, { tag, scheme, size });
          const image = await page.screenshot({ fullPage: true, type: 'jpeg', quality: 75 });
          shots.push(
            `<figure><figcaption>${tag} ${scheme} ${size}</figcaption><img src="data:image/jpeg;base64,${image.toString('base64')}"></figure>`,
          );
          await closed(page);
        }
    const sheet = await browser.newPage({ viewport: { width: 1900, height: 900 } });
    await sheet.setContent(
      `<style>body{display:grid;grid-template-columns:repeat(6,1fr);gap:8px;font:14px sans-serif;background:#777}figure{margin:0}img{width:100%}</style>${shots.join('')}`,
    );
    const name = path.replaceAll(/[/:]+/g, '-').replace(/^-/, '') || 'root';
    await sheet.screenshot({ path: `${sheets}/${name}.png`, fullPage: true });
    await sheet.close();
  });
});
