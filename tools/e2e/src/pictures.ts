/**
 * `npm run pictures`: makes the pictures of the README from the pages of the demo, in a real Chromium. Look at them
 * before you commit them.
 */
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, provideChromium } from '@tessera/test-kit/provision';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import {
  endConsoleDemo,
  signInAsAdministrator,
  startConsoleDemo,
  type ConsoleDemo,
} from './harness/browser/console-demo.ts';

const pictures = fileURLToPath(new URL('../../../docs/pictures/', import.meta.url));
const mostBytes = 150 * 1024;

const desk = { viewport: { width: 1000, height: 720 } };
const phone = { viewport: { width: 400, height: 720 }, deviceScaleFactor: 2 };

interface Picture {
  readonly name: string;
  readonly on: BrowserContextOptions;
  /** Comes to the page that is shown. */
  readonly way: (page: Page, baseUrl: string, console: string) => Promise<void>;
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

/** The overview of the demo in the console. */
async function openConsole(page: Page, console: string): Promise<void> {
  await page.goto(`${console}/o/demo`);
  await page.getByLabel('Identifier of your organization').fill('');
  await page.getByRole('button', { name: 'Continue' }).click();
  await signInAsAdministrator(page, 'boss');
  await page.getByRole('heading', { name: 'Sign-ins' }).waitFor();
}

async function openAda(page: Page, console: string): Promise<void> {
  await openConsole(page, console);
  await page.getByRole('link', { name: 'People', exact: true }).click();
  await page.getByRole('link', { name: 'Ada Lovelace' }).click();
  await heading(page, /Ada Lovelace/);
}

/** What the console has to show: some who got in, and some who did not. */
async function beBusy(browser: Browser, baseUrl: string): Promise<void> {
  const tries = [
    ['ada', 'correct horse battery staple'],
    ['ada', 'correct horse battery staple'],
    ['grace', 'not the passphrase'],
    ['grace', 'a moth in relay seventy'],
  ] as const;
  for (const [username, secret] of tries) {
    const page = await (await browser.newContext()).newPage();
    await toSignIn(page, baseUrl);
    await signInAsAdministrator(page, username, secret);
    await page
      .getByText(/wrong|Signed in/i)
      .first()
      .waitFor();
    await page.context().close();
  }
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
  { name: 'console', on: desk, way: async (page, _, console) => openConsole(page, console) },
  { name: 'console-person', on: desk, way: async (page, _, console) => openAda(page, console) },
  {
    name: 'console-impact',
    on: desk,
    async way(page, _, console) {
      await openAda(page, console);
      await page.getByRole('link', { name: 'Lock down' }).click();
      await page.getByText(/sessions? ends?$/).waitFor();
    },
  },
  {
    name: 'console-application',
    on: { viewport: { width: 1000, height: 1100 } },
    async way(page, _, console) {
      await openConsole(page, console);
      await page.getByRole('link', { name: 'Applications', exact: true }).click();
      await page.getByRole('link', { name: 'Demo Web', exact: true }).click();
      await page.locator('.snippet').first().waitFor();
    },
  },
];

async function take(
  browser: Browser,
  { name, on, way }: Picture,
  { issuer, console }: ConsoleDemo,
): Promise<void> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...on });
  const page = await context.newPage();
  await way(page, issuer, console);
  const path = join(pictures, `${name}.png`);
  await page.screenshot({ path });
  await context.close();
  const { size } = await stat(path);
  if (size > mostBytes) throw new Error(`${path} has ${size} bytes, more than ${mostBytes}.`);
  process.stdout.write(`${path}: ${Math.ceil(size / 1024)} KiB\n`);
}

await mkdir(pictures, { recursive: true });
const demo = await startConsoleDemo(await freePort());
try {
  const browser = await chromium.launch({ executablePath: provideChromium(), args: ['--no-sandbox'] });
  await beBusy(browser, demo.issuer);
  for (const picture of all) await take(browser, picture, demo);
  await browser.close();
} finally {
  await endConsoleDemo(demo);
}
