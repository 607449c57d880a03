import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  consoleInChromium,
  schemes,
  shownRows as rows,
  sizes,
  type ConsoleInChromium,
} from './testing/console-in-chromium.ts';
import { ownRecords } from './testing/console-records.ts';

const tags = ['en', 'de', 'ar'] as const;
const appearances = tags
  .flatMap((tag) => schemes.map((scheme) => ({ tag, scheme })))
  .filter(({ tag, scheme }) => runsEverything || ['en light', 'ar dark'].includes(`${tag} ${scheme}`));

/** Where sheets of screenshots go; undefined to make none. */
const sheets = process.env['TESSERA_TEST_SHEETS'];

describe('every page of the console in a real Chromium', () => {
  let console: ConsoleInChromium;
  let axe: string;

  beforeAll(async () => {
    if (sheets !== undefined) mkdirSync(sheets, { recursive: true });
    axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    console = await consoleInChromium();
  });

  /** The records that a page is about, so that it has something to show. */
  const recordsOf = async (path: string) => ownRecords(console.world.on, path, 'acme');

  it.each(rows)('$path has no violation that axe finds', async ({ path }) => {
    const of = await recordsOf(path);
    for (const appearance of appearances) {
      const page = await console.opened(path, { ...appearance, size: '360px', of });
      await page.evaluate(axe);
      const found = await page.evaluate(
        'axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html).join(" ")))',
      );
      expect(found, `${appearance.tag} ${appearance.scheme}`).toEqual([]);
      expect(console.refused).toEqual([]);
      await console.closed(page);
    }
  });

  it.each(sheets === undefined ? [] : rows)('$path has a sheet that somebody looks at', async ({ path }) => {
    const of = await recordsOf(path);
    const name = path.replaceAll(/[/:]+/g, '-').replace(/^-/, '') || 'root';
    for (const size of Object.keys(sizes) as (keyof typeof sizes)[]) {
      const shots: string[] = [];
      for (const scheme of schemes)
        for (const tag of tags) {
          const page = await console.opened(path, { tag, scheme, size, of });
          const image = await page.screenshot({ fullPage: true, type: 'jpeg', quality: 75 });
          shots.push(
            `<figure><figcaption>${tag} ${scheme} ${size}</figcaption><img src="data:image/jpeg;base64,${image.toString('base64')}"></figure>`,
          );
          await console.closed(page);
        }
      const sheet = await console.browser.newPage({ viewport: { width: 2400, height: 900 } });
      await sheet.setContent(
        `<style>body{display:grid;grid-template-columns:repeat(${size === 'desk' ? 3 : 6},1fr);gap:8px;font:14px sans-serif;background:#777}figure{margin:0}img{width:100%}</style>${shots.join('')}`,
      );
      const file = `${sheets}/${name}-${size.replace('%', '')}.png`;
      await sheet.screenshot({ path: file, fullPage: true });
      await sheet.close();
    }
  });
});
