import { spawn } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { launchChromium } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import {
  endConsoleDemo,
  signInAsAdministrator,
  startConsoleDemo,
  type ConsoleDemo,
} from '../../harness/browser/console-demo.ts';
import { startOpenIdProvider } from '../../harness/openid-provider.ts';
import { savePicture } from '../../harness/browser/picture.ts';

const modules = fileURLToPath(new URL('../../../../../node_modules/', import.meta.url));

let demo: ConsoleDemo;
let browser: Browser;

beforeAll(async () => {
  demo = await startConsoleDemo(await freePort(), { TESSERA_ALLOW_PRIVATE: 'providers' });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  if (demo !== undefined) await endConsoleDemo(demo);
});

/** A browser at the console, signed in. */
async function administrator(username: string, organization: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${demo.console}/`);
  await page.getByLabel('Identifier of your organization').fill(organization);
  await page.getByRole('button', { name: 'Continue' }).click();
  await signInAsAdministrator(page, username);
  return page;
}

const open = async (page: Page, ...names: readonly string[]) => {
  for (const name of names) await page.getByRole('link', { name, exact: true }).click();
};
const press = async (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

it('brings a new single-page application from nothing to a signed-in person, with what its page prints', async () => {
  const page = await administrator('dora', 'demo');
  const began = performance.now();
  const port = await freePort();
  const address = `http://localhost:${port}/`;
  await open(page, 'Applications', 'Create an application', 'Single-page application');
  await page.getByLabel('Name', { exact: true }).fill('Shop window');
  await page.getByLabel('Redirect URIs').fill(address);
  await savePicture(page, 'console-new-application');
  await press(page, 'Create the application');
  await page.getByRole('heading', { name: 'The application is ready' }).waitFor();
  await savePicture(page, 'console-made-application');
  const snippet = (await page.locator('#snippet').textContent()) ?? '';

  // Somebody does what its first lines say; the packages are there already.
  const folder = await mkdtemp(join(tmpdir(), 'tessera-snippet-'));
  await symlink(modules, join(folder, 'node_modules'));
  await writeFile(join(folder, 'index.html'), snippet);
  expect(snippet).toContain(`npx vite --port ${port} --strictPort`);
  const vite = spawn(
    process.execPath,
    [join(modules, 'vite/bin/vite.js'), '--port', String(port), '--strictPort'],
    { cwd: folder, stdio: 'ignore' },
  );
  onTestFinished(async () => {
    vite.kill();
    await rm(folder, { recursive: true, force: true });
  });
  await eventually('the application is served', async () => (await fetch(address)).ok);
  const visitor = await (await browser.newContext()).newPage();
  await visitor.goto(address);
  await visitor.getByRole('button', { name: 'Sign in' }).click();
  await signInAsAdministrator(visitor, 'ada', 'correct horse battery staple');
  await visitor.getByText(/Signed in as usr_/).waitFor();
  expect(performance.now() - began).toBeLessThan(5 * 60_000);
});

it('sets up a service with its API, whose token is for that API', async () => {
  const page = await administrator('dora', 'demo');
  await open(page, 'APIs', 'Create an API');
  await page.getByLabel('Name', { exact: true }).fill('Stock');
  await page.getByLabel('Audience').fill('https://stock.demo.example');
  await page.getByLabel('Scopes').fill('stock.read\nstock.write');
  await savePicture(page, 'console-new-api');
  await press(page, 'Create the API');
  await open(page, 'Open this API', 'stock.read');
  await page.getByLabel('What people read').fill('See the stock');
  await page.getByLabel('The same in Deutsch').fill('Den Bestand sehen');
  await savePicture(page, 'console-scope');
  await press(page, 'Save');
  await page.getByText('See the stock').waitFor();
  await savePicture(page, 'console-api');
  await open(page, 'Applications', 'Create an application', 'Service');
  await page.getByLabel('Name', { exact: true }).fill('Stock keeper');
  await page.getByLabel('stock.read').check();
  await press(page, 'Create the application');
  const secret = (await page.locator('#secret').textContent()) ?? '';
  const snippet = (await page.locator('#snippet').textContent()) ?? '';
  const clientId = /-u '([^']+)'/.exec(snippet)?.[1] ?? '';
  const answer = await fetch(`${demo.issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'stock.read' }),
  });
  const { access_token: accessToken = '' } = (await answer.json()) as { access_token?: string };
  const claims = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()) as object;
  expect(claims).toMatchObject({ aud: 'https://stock.demo.example', scope: ['stock.read'] });
  // The list tells it apart, and what would end is said before it does.
  await open(page, 'Open this application', 'Delete');
  await page.getByText('Nothing is open that would end.').waitFor();
  await savePicture(page, 'console-delete-application');
  await press(page, 'Delete this application');
  await page.getByRole('heading', { name: 'The application is deleted' }).waitFor();
});

it('sets up a provider, which says what is wrong until it is right, and then has its button', async () => {
  const port = await freePort();
  const redirectUri = `${demo.issuer}/login/provider/demo/corp`;
  const provider = await startOpenIdProvider(
    port,
    {
      clientId: 'tessera',
      clientSecret: 'the secret of the provider',
      redirectUris: [redirectUri],
      postLogoutRedirectUri: `${demo.issuer}/logout/provider`,
      backchannelLogoutUri: `${redirectUri}/backchannel-logout`,
    },
    'corp.example',
  );
  onTestFinished(() => provider.stop());
  const page = await administrator('boss', '');
  await open(page, 'Demo');
  await open(page, 'Providers', 'Set up a provider');
  await page.getByText('/login/provider/demo/NAME').waitFor();
  await page.getByLabel('Short name').fill('corp');
  await page.getByLabel('Name', { exact: true }).fill('Corp Staff');
  await page.getByLabel('Issuer').fill(`${provider.issuer}/`);
  await page.getByLabel('Client ID').fill('tessera');
  await page.getByLabel('Client secret').fill('another secret');
  await page.getByLabel('New people get an account').check();
  await press(page, 'Test and save');
  await page.getByText(`The provider's own issuer is ${provider.issuer}.`).waitFor();
  await savePicture(page, 'console-provider-refused');
  await page.getByLabel('Issuer').fill(provider.issuer);
  await page.getByLabel('Client secret').fill('another secret');
  await press(page, 'Test and save');
  await page.getByText('The provider rejects this client ID and secret.').waitFor();
  await page.getByLabel('Client secret').fill('the secret of the provider');
  await press(page, 'Test and save');
  await open(page, 'Open this provider');
  await press(page, 'Test this provider');
  await page.getByText('The provider accepts the client ID with our redirect URI.').waitFor();
  await savePicture(page, 'console-provider');
  expect(await page.content()).not.toContain('the secret of the provider');

  const visitor = await (await browser.newContext()).newPage();
  await eventually('the button is there', async () => {
    await visitor.goto(`${demo.issuer}/demo/sign-in`);
    return (await visitor.getByRole('button', { name: /Corp Staff/ }).count()) > 0;
  });
});

it('asks again who somebody is where they have signed out elsewhere, with the next page', async () => {
  const page = await administrator('dora', 'demo');
  await open(page, 'Settings');
  await page.getByText('manages this record').waitFor();
  await savePicture(page, 'console-owned');
  const other = await page.context().newPage();
  await other.goto(`${demo.issuer}/account?tenant=demo`);
  await other
    .getByRole('button', { name: /Sign out/ })
    .first()
    .click();
  await page.goto(`${demo.console}/o/demo/settings`);
  await page.getByLabel('Password').waitFor();
});
