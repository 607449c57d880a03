import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pageTable } from '@tessera/console/testing';
import { launchChromium, runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
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

/** Where sheets of screenshots go; undefined to make none. */
const sheets = process.env['TESSERA_TEST_SHEETS'];

// One that has come from the issuer, those that send the browser there, and a style sheet show nothing.
const rows = pageTable.filter(({ path }) => !['/start', '/callback', '/looks.css'].includes(path));

describe('every page of the console in a real Chromium', () => {
  let world: ConsoleWorld;
  let browser: Browser;
  let axe: string;
  let about: Awaited<ReturnType<ConsoleWorld['somebody']>>;
  const refused: string[] = [];

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

  /** A page of an operator in a language; two of them share nothing. */
  async function opened(
    path: string,
    {
      tag = 'en',
      scheme = 'light',
      size = 'desk',
    }: {
      readonly tag?: string;
      readonly scheme?: (typeof schemes)[number];
      readonly size?: keyof typeof sizes;
    } = {},
  ): Promise<Page> {
    const context = await browser.newContext({
      locale: tag,
      colorScheme: scheme,
      viewport: sizes[size],
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
