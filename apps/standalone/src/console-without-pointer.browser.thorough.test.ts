import { runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  consoleInChromium,
  shownRows as rows,
  type ConsoleInChromium,
  type Page,
} from './testing/console-in-chromium.ts';
import { filledIn, ownRecords } from './testing/console-records.ts';

let console: ConsoleInChromium;
beforeAll(async () => {
  console = await consoleInChromium();
});

const recordsOf = async (path: string) => ownRecords(console.world.on, path, 'acme');

/** Numbers what takes the keyboard, in the order of the document, and returns how much that is. */
const numbered = async (page: Page) =>
  page.evaluate<number>(`(() => {
    const found = [...document.querySelectorAll('a[href], button, summary, input:not([type=hidden]), textarea, [tabindex="0"]')]
      .filter((e) => e.checkVisibility())
      // Of a choice of one the keyboard stops once, at what is chosen.
      .filter((e) => e.type !== 'radio' || e === (document.querySelector('input[name="' + e.name + '"]:checked') ?? document.querySelector('input[name="' + e.name + '"]')));
    found.forEach((e, index) => e.setAttribute('data-order', index));
    return found.length;
  })()`);

describe.each(runsEverything ? (['360px', 'desk'] as const) : (['360px'] as const))(
  'with the keyboard alone, %s',
  (size) => {
    it.each(rows)('$path is walked through in its order, and shows where one is', async ({ path }) => {
      const page = await console.opened(path, { size, of: await recordsOf(path) });
      // What scrolls by itself is one more stop, and what does not is none.
      const stops =
        await page.evaluate(`new Promise((done) => requestAnimationFrame(() => setTimeout(done))).then(() =>
      [...document.querySelectorAll('.scrolled')].filter((e) => e.checkVisibility()).map((e) => [e.hasAttribute('tabindex'), e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight]))`);
      for (const [isStop, scrolls] of stops as readonly (readonly boolean[])[]) expect(isStop).toBe(scrolls);
      const count = await numbered(page);
      // Where a form takes the first key, the walk begins at the top all the same.
      await page.evaluate('document.activeElement?.blur()');
      await page.evaluate('getSelection().setPosition(document.body, 0)');
      for (let index = 0; index < count; index += 1) {
        await page.keyboard.press('Tab');
        // The parts of a day are stops of their own, the last of which takes `:focus` from their field.
        const isInDay = `document.activeElement.matches('input[type=date][data-order="${index - 1}"]')`;
        while (await page.evaluate<boolean>(isInDay)) await page.keyboard.press('Tab');
        const focus = await page.evaluate(
          '[document.activeElement.getAttribute("data-order"), getComputedStyle(document.activeElement).outlineStyle]',
        );
        expect(focus).toEqual([String(index), 'solid']);
      }
      await console.closed(page);
    });
  },
);

it('leads past the navigation with the first key', async () => {
  const page = await console.opened('/o/:tenant/deleted-people');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.id')).toBe('q');
  await console.closed(page);
});

/** What a reader sees, without what only a script offers or writes. */
const shownOn = async (page: Page) =>
  page.evaluate<string>(`(() => {
    const main = document.querySelector('main').cloneNode(true);
    for (const e of main.querySelectorAll('time, script, noscript, [data-copies], [data-switches], #pick-logo')) e.remove();
    for (const e of main.querySelectorAll('[hidden]')) e.remove();
    return main.textContent.replaceAll(/\\s+/g, ' ').trim();
  })()`);

describe('without script', () => {
  it.each(rows)('$path shows what it shows with script', async ({ path }) => {
    const of = await recordsOf(path);
    const [plain, scripted] = [
      await console.opened(path, { hasScript: false, of }),
      await console.opened(path, { of }),
    ];
    expect(await shownOn(plain)).toBe(await shownOn(scripted));
    await plain.getByRole('heading', { level: 1 }).waitFor();
    await console.closed(plain);
    await console.closed(scripted);
  });

  // A sign-in leads to an issuer that is not there, and a sign-out ends what the others have.
  it.each(rows.filter(({ page, who }) => page.act !== undefined && who !== 'anyone'))(
    'the form of $path is sent and answered',
    async ({ path }) => {
      // It may be gone afterwards.
      const person = await console.world.somebody('acme', 'Somebody', path.includes(':approval'));
      const page = await console.opened(path, {
        hasScript: false,
        of: { ...person, ...(await recordsOf(path)) },
      });
      for (const [name, value] of Object.entries(filledIn(path))) await fillIn(page, name, value);
      const answered = page.waitForResponse((answer) => answer.request().method() === 'POST');
      await page.locator('form[method=post] button[type=submit]').first().click();
      expect([200, 303]).toContain((await answered).status());
      await page.getByRole('heading', { level: 1 }).waitFor();
      await console.closed(page);
    },
  );

  it('lists are searched and narrowed', async () => {
    const page = await console.opened('/o/:tenant/people', { hasScript: false });
    await page.getByLabel(/Name, user name/).fill('Ada Love');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('link', { name: /^Ada Lovelace, Countess/ }).waitFor();
    await page.getByRole('link', { name: 'Disabled' }).click();
    await page.getByText('Nobody was found').waitFor();
    expect(page.url()).toMatch(/q=Ada\+Love&status=disabled$/);
    await console.closed(page);
  });
});

async function fillIn(page: Page, name: string, value: string): Promise<void> {
  const field = page.locator(`form[method=post] [name="${name}"]`);
  if ((await field.count()) === 0) throw new Error(`there is no field ${name}`);
  const type = await field.first().getAttribute('type');
  if (type === 'hidden') return;
  if (type === 'radio') await page.locator(`[name="${name}"][value="${value}"]`).check();
  else await field.fill(value);
}
