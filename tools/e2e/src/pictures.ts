/**
 * `npm run pictures`: makes the pictures of the README from the pages of the demo, in a real Chromium. Look at them
 * before you commit them.
 */
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServerProcess } from '@tessera/test-client';
import { eventually, freePort, provideChromium } from '@tessera/test-kit/provision';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

const pictures = fileURLToPath(new URL('../../../docs/pictures/', import.meta.url));
const mostBytes = 150 * 1024;

const desk = { viewport: { width: 1000, height: 720 } };
const phone = { viewport: { width: 400, height: 720 }, deviceScaleFactor: 2 };

interface Picture {
  readonly name: string;
  readonly on: BrowserContextOptions;
  /** Comes to the page that is shown. */
  readonly way: (page: Page, baseUrl: string) => Promise<void>;
}

async function signIn(page: Page): Promise<void> {
  await page.locator('[name=identifier]').fill('ada');
  await page.locator('[name=password]').fill('correct horse battery staple');
  await page.locator('button[type=submit]').first().click();
}

const heading = async (page: Page, name: RegExp): Promise<void> =>
  page.getByRole('heading', { level: 1, name }).waitFor();

const toSignIn = async (page: Page, baseUrl: string): Promise<void> => {
  await page.goto(`${baseUrl}/demo/sign-in`);
  await page.locator('[name=password]').waitFor();
};

/** Where the device that is shown in another window leads a phone. */
async function deviceLink(device: Page, baseUrl: string): Promise<string> {
  await device.goto(`${baseUrl}/demo/`);
  await device.getByRole('link', { name: 'Sign in on a device' }).click();
  return (await device.locator('a:has(img)').getAttribute('href')) ?? '';
}

/** As a call center that asks a person (OpenID CIBA Core section 7.1). */
async function askForApproval(baseUrl: string): Promise<void> {
  const client = Buffer.from('demo-ciba:demo-secret-not-for-production-0002').toString('base64');
  const answer = await fetch(`${baseUrl}/backchannel_authentication`, {
    method: 'POST',
    headers: { authorization: `Basic ${client}` },
    body: new URLSearchParams({
      scope: 'openid profile orders.read',
      login_hint: 'ada',
      binding_message: 'Order 4711',
    }),
  });
  if (!answer.ok) throw new Error(`no approval was asked for: ${answer.status}`);
}

const all: readonly Picture[] = [
  { name: 'sign-in', on: desk, way: toSignIn },
  { name: 'sign-in-dark', on: { ...phone, colorScheme: 'dark', locale: 'de-DE' }, way: toSignIn },
  { name: 'sign-in-arabic', on: { ...phone, locale: 'ar' }, way: toSignIn },
  {
    name: 'device',
    on: phone,
    async way(page, baseUrl) {
      const device = await page.context().newPage();
      await page.goto(await deviceLink(device, baseUrl));
      await device.close();
      await page.getByRole('button', { name: 'Continue' }).click();
      await signIn(page);
      await page.locator('button[value=approve]').waitFor();
    },
  },
  {
    name: 'approval',
    on: phone,
    async way(page, baseUrl) {
      await askForApproval(baseUrl);
      await page.goto(`${baseUrl}/approvals?tenant=demo`);
      await signIn(page);
      await page.locator('button[value=approve]').waitFor();
    },
  },
  {
    name: 'account',
    on: desk,
    async way(page, baseUrl) {
      await page.goto(`${baseUrl}/account?tenant=demo`);
      await signIn(page);
      await heading(page, /account/i);
    },
  },
];

async function take(browser: Browser, { name, on, way }: Picture, baseUrl: string): Promise<void> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...on });
  const page = await context.newPage();
  await way(page, baseUrl);
  const path = join(pictures, `${name}.png`);
  await page.screenshot({ path });
  await context.close();
  const { size } = await stat(path);
  if (size > mostBytes) throw new Error(`${path} has ${size} bytes, more than ${mostBytes}.`);
  process.stdout.write(`${path}: ${Math.ceil(size / 1024)} KiB\n`);
}

const directory = await mkdtemp(join(tmpdir(), 'tessera-pictures-'));
const port = await freePort();
const baseUrl = `http://localhost:${port}`;
const server = new ServerProcess('standalone', 'apps/standalone/src/main.ts');
await mkdir(pictures, { recursive: true });
try {
  server.start({ TESSERA_DATA_DIR: directory, TESSERA_HTTP_PORT: String(port) });
  await eventually('the demo serves', async () => (await fetch(`${baseUrl}/readyz`)).ok);
  const browser = await chromium.launch({ executablePath: provideChromium(), args: ['--no-sandbox'] });
  for (const picture of all) await take(browser, picture, baseUrl);
  await browser.close();
} finally {
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}
