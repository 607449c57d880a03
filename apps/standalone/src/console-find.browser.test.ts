import { beforeAll, describe, expect, it } from 'vitest';
import { call } from './testing/administered.ts';
import { consoleInChromium, type ConsoleInChromium, type Page } from './testing/console-in-chromium.ts';

let console: ConsoleInChromium;
let visit: ConsoleInChromium['world']['visit'];

beforeAll(async () => {
  console = await consoleInChromium();
  ({ visit } = console.world);
  const { users } = console.world;
  for (const name of ['Finn Looked-For', 'Fiona Looked-For', 'Fabian Looked-For'])
    await users.create({ tenantId: 'acme', user: { username: name.split(' ')[0] ?? '', name } }, call());
});

const found = async (username: string, path: string) => {
  const { status, html } = await visit(path, console.world.cookies.get(username) ?? '');
  const links = html
    .slice(html.indexOf('class="results"'))
    .matchAll(/<a href="\/console([^"]+)"[^>]*>(?:<bdi>)?([^<]+)/g);
  return { status, links: [...links].map(([, href = '', label = '']) => `${label} ${href}`) };
};

describe('the page Find', () => {
  it('finds pages, people, applications, APIs and organizations by name', async () => {
    const links = async (search: string) => (await found('root', `/o/acme/find?q=${search}`)).links;
    expect(await links('role')).toEqual(['Roles /o/acme/roles', 'Create a role /o/acme/new-role']);
    expect(
      (await links('looked')).map((link) => link.replace(/ \/o\/acme\/people\/usr_[\w-]+$/, '')),
    ).toEqual(expect.arrayContaining(['Finn Looked-For', 'Fiona Looked-For', 'Fabian Looked-For']));
    expect(await links('acme-own')).toEqual(['Own /o/acme/applications/acme-own']);
    expect(await links('initech')).toContain('initech /o/initech');
    expect(await links('01KB0000000000000000000000')).toEqual([
      'Why was this refused? /o/acme/why?reference=01KB0000000000000000000000',
    ]);
    expect(await links('nothing-at-all')).toEqual([]);
  });

  it('asks for nothing but whether somebody may look, while nothing is looked for', async () => {
    const { calls } = console.world;
    calls.length = 0;
    const { links } = await found('root', '/o/acme/find');
    expect(calls).toEqual(['list']);
    expect(links).toContain('Create an application /o/acme/new-application');
    expect(links).toContain('Sign out /sign-out');
  });

  it('shows an administrator of a tenant, and a help desk, nothing else than the API', async () => {
    expect((await found('ivy', '/o/acme/find?q=looked')).status).toBe(403);
    expect((await found('ivy', '/o/acme/find')).status).toBe(403);
    expect((await found('ivy', '/o/initech/find?q=initech-o')).links).toEqual([
      'Own /o/initech/applications/initech-own',
    ]);
    expect((await found('helper', '/o/acme/find?q=own')).links).toEqual([]);
    expect((await found('helper', '/o/acme/find?q=create')).links).toEqual([]);
    expect((await found('helper', '/o/acme/find?q=Fabian')).links).toHaveLength(1);
  });

  it('takes the words of the language of the reader', async () => {
    const { html } = await visit('/o/acme/find?q=einstell', console.world.cookies.get('root') ?? '', {
      headers: { 'accept-language': 'de' },
    });
    expect(html).toContain('href="/console/o/acme/settings">Einstellungen');
  });
});

const focused = async (page: Page) => page.evaluate<string>('document.activeElement.textContent.trim()');
const rowsOf = async (page: Page, count: number) =>
  page
    .locator('.results tbody')
    .and(page.locator(`:has(tr:nth-child(${count}):last-child)`))
    .waitFor();

describe('with a script', () => {
  it('opens over any page with one key, and leads on with arrows and Enter', async () => {
    const page = await console.opened('/o/:tenant/settings');
    await page.keyboard.press('/');
    const dialog = page.getByRole('dialog', { name: 'Find' });
    await dialog.waitFor();
    await page.keyboard.type('fiona');
    await dialog.getByRole('link', { name: 'Fiona Looked-For' }).waitFor();
    expect(page.url()).toMatch(/\/settings$/);
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).toBe('Fiona Looked-For');
    await page.keyboard.press('ArrowUp');
    expect(await page.evaluate('document.activeElement.id')).toBe('find');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Fiona Looked-For' }).waitFor();
    await console.closed(page);
  });

  it('opens the first of what it found with Enter', async () => {
    const page = await console.opened('/o/:tenant/settings');
    await page.keyboard.press('/');
    const dialog = page.getByRole('dialog', { name: 'Find' });
    await dialog.waitFor();
    await page.keyboard.type('fabian');
    await dialog.getByRole('link', { name: 'Fabian Looked-For' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Fabian Looked-For' }).waitFor();
    await console.closed(page);
  });

  it('says that the session has ended, and leads to a sign-in with Enter', async () => {
    const page = await console.opened('/o/:tenant/settings');
    await page.keyboard.press('/');
    await page.getByRole('dialog').waitFor();
    await page.context().clearCookies();
    await page.keyboard.type('fabian');
    await page.getByText('You are signed out. Press Enter').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/console\/sign-in\?/);
    await console.closed(page);
  });

  it('closes with Escape, and opens with Ctrl+K also where one key alone was switched off (WCAG 2.2, 2.1.4)', async () => {
    const page = await console.opened('/o/:tenant');
    const dialog = page.getByRole('dialog');
    await page.keyboard.press('/');
    await dialog.getByRole('checkbox').uncheck();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.reload();
    await page.keyboard.press('/');
    await page.keyboard.press('Control+k');
    await dialog.waitFor();
    expect(await dialog.count()).toBe(1);
    expect(await dialog.getByRole('checkbox').isChecked()).toBe(false);
    const link = page.locator('nav.pages a[aria-keyshortcuts]');
    expect(await link.getAttribute('aria-keyshortcuts')).toBe('Control+K');
    expect(await link.getAttribute('data-key')).toBeNull();
    await console.closed(page);
  });

  it('opens once however fast it is asked, and leads to its field on its own page', async () => {
    const page = await console.opened('/o/:tenant');
    await page.route('**/find', async (route) => {
      await new Promise((done) => setTimeout(done, 300));
      await route.continue();
    });
    await page.keyboard.press('/');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.waitForTimeout(500);
    expect(await page.getByRole('dialog').count()).toBe(1);
    await console.closed(page);
    const own = await console.opened('/o/:tenant/find');
    await own.keyboard.press('/');
    expect(await own.evaluate('document.activeElement.id')).toBe('find');
    expect(await own.getByRole('dialog').count()).toBe(0);
    await console.closed(own);
  });

  it('takes no form away that is half filled in, where nothing can be found', async () => {
    const page = await console.opened('/o/:tenant/new-api');
    const audience = page.getByLabel('Audience');
    await audience.fill('https://half.example');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.route('**/find?q=**', (route) => route.fulfill({ status: 503, body: '' }));
    await page.keyboard.type('finn');
    await page.getByText('This part is not available now.').waitFor();
    await page.keyboard.press('Escape');
    expect(await audience.inputValue()).toBe('https://half.example');
    await console.closed(page);
  });

  it('leaves the key to a field that is written in', async () => {
    const page = await console.opened('/o/:tenant/people');
    await page.getByLabel(/Name, user name/).focus();
    await page.keyboard.type('a/b');
    expect(await page.getByLabel(/Name, user name/).inputValue()).toBe('a/b');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await console.closed(page);
  });

  it('narrows a list while somebody types, in its address too, and says how much is left', async () => {
    const page = await console.opened('/o/:tenant/people');
    const field = page.getByLabel(/Name, user name/);
    await field.pressSequentially('looked-for');
    await rowsOf(page, 3);
    await page.getByRole('status').filter({ hasText: '3 results on this page.' }).waitFor();
    expect(page.url()).toMatch(/\/people\?q=looked-for$/);
    await field.press('ArrowDown');
    const first = await focused(page);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await focused(page)).not.toBe(first);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    expect(await focused(page)).toBe(first);
    await page.getByRole('link', { name: 'Disabled' }).click();
    await page.getByText('Nobody was found').first().waitFor();
    expect(page.url()).toMatch(/q=looked-for&status=disabled$/);
    await field.fill('');
    await page.waitForURL(/\/people\?status=disabled$/);
    await console.closed(page);
  });

  it('signs in again where the session ended while somebody typed', async () => {
    const page = await console.opened('/o/:tenant/people');
    await page.context().clearCookies();
    await page.getByLabel(/Name, user name/).pressSequentially('finn');
    await page.waitForURL(/\/console\/sign-in\?.*q%3Dfinn/);
    await console.closed(page);
  });

  it('shows the times of a list by how long ago they are, with the exact one under the pointer', async () => {
    const page = await console.opened('/o/:tenant/audit');
    const time = page.locator('td time').first();
    expect(await time.textContent()).toMatch(/^(?:now|\d+ (?:second|minute|hour)s? ago|yesterday)$/);
    expect(await time.getAttribute('title')).toMatch(/\d{4}/);
    expect(console.refused).toEqual([]);
    await console.closed(page);
  });
});
