import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Environment } from '@tessera/test-client';
import { launchChromium } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import { PatientProcess } from '../../harness/patient-process.ts';
import { savePicture } from '../../harness/picture.ts';
import { startWorkloadIssuer } from '../../harness/workload-issuer.ts';

const password = 'a passphrase of the help desk';

interface Demo {
  readonly server: PatientProcess;
  readonly directory: string;
  readonly issuer: string;
  readonly console: string;
}

/** The demo with a help desk. */
async function startDemo(port: number, environment: Environment = {}): Promise<Demo> {
  const server = new PatientProcess('standalone', 'apps/standalone/src/main.ts');
  const directory = await mkdtemp(join(tmpdir(), 'tessera-console-'));
  const issuer = `http://localhost:${port}`;
  server.start({ TESSERA_DATA_DIR: directory, TESSERA_HTTP_PORT: String(port), ...environment });
  await eventually('the demo serves', async () => (await fetch(`${issuer}/readyz`)).ok);
  const announced = () => readFile(join(directory, 'administration.json'), 'utf8').catch(() => '');
  await eventually('administration is served', async () => (await announced()) !== '');
  const { target, token } = JSON.parse(await announced()) as { target: string; token: string };
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
  return { server, directory, issuer, console: `http://${target}/console` };
}

async function end({ server, directory }: Demo): Promise<void> {
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}

let demo: Demo;
let browser: Browser;

beforeAll(async () => {
  demo = await startDemo(await freePort());
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  if (demo !== undefined) await end(demo);
});

async function signIn(page: Page, username: string, secret: string): Promise<void> {
  await page.getByLabel(/user name/i).fill(username);
  await page.getByLabel('Password').fill(secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

it('lets a help desk sign in and lock down the account of somebody who has lost a laptop', async () => {
  const { issuer, console } = demo;
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
  await savePicture(page, 'console-people');
  await page.getByRole('link', { name: 'Ada Lovelace' }).click();
  await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor();
  await savePicture(page, 'console-person');
  await page.getByRole('link', { name: 'Lock down' }).click();
  await page.getByText('1 session ends').waitFor();
  await savePicture(page, 'console-lockdown');
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

it('proves who it is by a token of its platform, which it reads for each sign-in, and needs no secret (RFC 7523 §2.2)', async () => {
  const [platform, port] = [await startWorkloadIssuer(await freePort()), await freePort()];
  const folder = await mkdtemp(join(tmpdir(), 'tessera-token-'));
  const file = join(folder, 'token');
  const sub = 'system:serviceaccount:id:console';
  const identified = await startDemo(port, {
    TESSERA_ISSUER: `http://localhost:${port}`,
    TESSERA_ALLOW_PRIVATE: 'issuers',
    TESSERA_CONSOLE_TOKEN_FILE: file,
    TESSERA_CONSOLE_IDENTITY: `${platform.issuer}=${sub}`,
  });
  onTestFinished(async () => {
    await end(identified);
    await platform.stop();
    await rm(folder, { recursive: true });
  });
  const page = await (await browser.newContext()).newPage();
  const open = async () => {
    await page.goto(`${identified.console}/o/demo/people`);
    await page.getByLabel('Identifier of your organization').fill('');
    await page.getByRole('button', { name: 'Continue' }).click();
  };
  const aud = `http://localhost:${port}`;
  await writeFile(file, platform.token({ sub: 'somebody else', aud }));
  await open();
  await signIn(page, 'helper', password);
  await page.getByText('The sign-in could not be completed').waitFor();
  await writeFile(file, platform.token({ sub, aud }));
  await open();
  await page.getByLabel(/Name, user name/).waitFor();
});
