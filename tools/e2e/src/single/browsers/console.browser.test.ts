import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchChromium } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import { PatientProcess } from '../../harness/patient-process.ts';

const screenshots = fileURLToPath(new URL('../../../../../test-output/screenshots/', import.meta.url));
const server = new PatientProcess('standalone', 'apps/standalone/src/main.ts');
const password = 'a passphrase of the help desk';

let directory: string;
let issuer: string;
let console: string;
let browser: Browser;

beforeAll(async () => {
  await mkdir(screenshots, { recursive: true });
  directory = await mkdtemp(join(tmpdir(), 'tessera-console-'));
  const port = await freePort();
  issuer = `http://localhost:${port}`;
  server.start({ TESSERA_DATA_DIR: directory, TESSERA_HTTP_PORT: String(port) });
  await eventually('the demo serves', async () => (await fetch(`${issuer}/readyz`)).ok);
  const announced = () => readFile(join(directory, 'administration.json'), 'utf8').catch(() => '');
  await eventually('administration is served', async () => (await announced()) !== '');
  const { target, token } = JSON.parse(await announced()) as { target: string; token: string };
  console = `http://${target}/console`;
  const create = async (method: string, request: object) => {
    const { ok } = await fetch(`http://${target}/tessera.admin.v1.${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    return ok;
  };
  const helper = { username: 'helper', name: 'Hedy Lamarr', password, roles: ['tessera.helpdesk'] };
  // The first administrator and its tenant are made when the banner is printed.
  await eventually('there is a help desk', () =>
    create('UsersService/Create', { tenantId: 'operators', user: helper }),
  );
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
});

async function signIn(page: Page, username: string, secret: string): Promise<void> {
  await page.getByLabel(/user name/i).fill(username);
  await page.getByLabel('Password').fill(secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

it('lets a help desk sign in and lock down the account of somebody who has lost a laptop', async () => {
  const laptop = await (await browser.newContext()).newPage();
  await laptop.goto(`${issuer}/demo/sign-in`);
  await signIn(laptop, 'ada', 'correct horse battery staple');
  await laptop.getByRole('heading', { name: 'Signed in' }).waitFor();

  const desk = await browser.newContext();
  const page = await desk.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  await page.goto(`${console}/o/demo/people`);
  await page.getByLabel('Identifier of your organization').fill('');
  await page.getByRole('button', { name: 'Continue' }).click();
  await signIn(page, 'helper', password);
  const began = performance.now();
  await page.getByLabel(/Name, user name/).fill('love');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.screenshot({ path: `${screenshots}console-people.png` });
  await page.getByRole('link', { name: 'Ada Lovelace' }).click();
  await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor();
  await page.screenshot({ path: `${screenshots}console-person.png`, fullPage: true });
  await page.getByRole('link', { name: 'Lock down' }).click();
  await page.getByText('1 session ends').waitFor();
  await page.screenshot({ path: `${screenshots}console-lockdown.png` });
  await page.getByRole('button', { name: 'Lock down' }).click();
  await page.getByRole('heading', { name: 'The account is locked down' }).waitFor();
  await page.getByText('The password is removed').waitFor();
  expect(performance.now() - began).toBeLessThan(30_000);
  expect(complaints).toEqual([]);

  await laptop.goto(`${issuer}/demo/sign-in`);
  await signIn(laptop, 'ada', 'correct horse battery staple');
  await laptop.getByText(/wrong/i).first().waitFor();

  // Signing out of the console leaves nothing that opens it.
  await page.getByRole('link', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'You are signed out of the console' }).waitFor();
  await page.goto(`${console}/o/demo/people`);
  await page.getByLabel('Identifier of your organization').waitFor();
  const cookies = await desk.cookies(console);
  expect(cookies.filter(({ name, value }) => name.includes('console') && value !== '')).toEqual([]);
});
