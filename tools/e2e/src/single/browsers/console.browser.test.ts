import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
import { savePicture } from '../../harness/browser/picture.ts';
import { startWorkloadIssuer } from '../../harness/workload-issuer.ts';

let demo: ConsoleDemo;
let browser: Browser;

beforeAll(async () => {
  demo = await startConsoleDemo(await freePort());
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  if (demo !== undefined) await endConsoleDemo(demo);
});

it('lets a help desk sign in and lock down the account of somebody who has lost a laptop', async () => {
  const { issuer, console } = demo;
  const laptop = await (await browser.newContext()).newPage();
  await laptop.goto(`${issuer}/demo/sign-in`);
  await signInAsAdministrator(laptop, 'ada', 'correct horse battery staple');
  await laptop.getByRole('heading', { name: 'Signed in' }).waitFor();

  const desk = await browser.newContext();
  const page = await desk.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  await page.goto(`${console}/o/demo/people`);
  await page.getByLabel('Identifier of your organization').fill('');
  await page.getByRole('button', { name: 'Continue' }).click();
  await signInAsAdministrator(page, 'helper');
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
  await signInAsAdministrator(laptop, 'ada', 'correct horse battery staple');
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

/** A page of the console, signed in as an operator or the help desk of the demo. */
async function atTheConsole(username: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${demo.console}/o/demo`);
  await page.getByLabel('Identifier of your organization').fill('');
  await page.getByRole('button', { name: 'Continue' }).click();
  await signInAsAdministrator(page, username);
  await page.getByRole('heading', { name: 'Sign-ins' }).waitFor();
  return page;
}

it('lets a help desk find out why somebody cannot sign in, and let them in again', async () => {
  const { issuer } = demo;
  const theirs = await (await browser.newContext()).newPage();
  for (let tries = 0; tries < 2; tries += 1) {
    await theirs.goto(`${issuer}/demo/sign-in`);
    await signInAsAdministrator(theirs, 'grace', 'not the passphrase');
    await theirs.getByText(/wrong/i).first().waitFor();
  }
  const page = await atTheConsole('helper');
  const began = performance.now();
  // It is in the last refusals, with the name.
  const refused = page.getByRole('row', { name: /Failed sign-in.*Grace Hopper/ });
  await eventually('the refusal is written down', async () => {
    await page.reload();
    return (await refused.count()) > 0;
  });
  await savePicture(page, 'console-home');
  await refused
    .first()
    .getByRole('link', { name: /Refused/ })
    .click();
  await page.getByText('The name or the password was wrong').waitFor();
  await savePicture(page, 'console-why');
  await page.getByRole('definition').getByRole('link', { name: 'Grace Hopper' }).click();
  await page.getByRole('link', { name: 'Reset the password' }).click();
  await page.getByRole('button', { name: 'Show the link' }).click();
  const link = (await page.locator('code').textContent()) ?? '';
  expect(performance.now() - began).toBeLessThan(60_000);
  await theirs.goto(link);
  await theirs
    .getByLabel(/new password/i)
    .first()
    .waitFor();
});

it('proves who it is by a token of its platform, which it reads for each sign-in, and needs no secret (RFC 7523 §2.2)', async () => {
  const [platform, port] = [await startWorkloadIssuer(await freePort()), await freePort()];
  const folder = await mkdtemp(join(tmpdir(), 'tessera-token-'));
  const file = join(folder, 'token');
  const sub = 'system:serviceaccount:id:console';
  const identified = await startConsoleDemo(port, {
    TESSERA_ISSUER: `http://localhost:${port}`,
    TESSERA_ALLOW_PRIVATE: 'issuers',
    TESSERA_CONSOLE_TOKEN_FILE: file,
    TESSERA_CONSOLE_IDENTITY: `${platform.issuer}=${sub}`,
  });
  onTestFinished(async () => {
    await endConsoleDemo(identified);
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
  await signInAsAdministrator(page, 'helper');
  await page.getByText('The sign-in could not be completed').waitFor();
  await writeFile(file, platform.token({ sub, aud }));
  await open();
  await page.getByLabel(/Name, user name/).waitFor();
});
