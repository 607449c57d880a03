import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { launchChromium } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import {
  endConsoleDemo,
  passwordOfAdministrators,
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

it('explains a refusal by the reference that its error page shows', async () => {
  const theirs = await (await browser.newContext()).newPage();
  const query = new URLSearchParams({
    client_id: 'demo-web',
    response_type: 'code',
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    redirect_uri: 'https://elsewhere.example/callback',
  });
  await theirs.goto(`${demo.issuer}/authorize?${query.toString()}`);
  await theirs.getByText('Reference').waitFor();
  const reference = (await theirs.locator('code').last().textContent()) ?? '';
  const page = await atTheConsole('helper');
  const began = performance.now();
  await page.getByLabel('Reference of the page that refused something').fill(reference);
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.waitForURL(/reference=/);
  await eventually('the refusal is written down', async () => {
    await page.reload();
    return (await page.getByText('https://elsewhere.example/callback').count()) > 0;
  });
  await page.getByText('It must equal a redirect URI of the application').waitFor();
  await page.getByRole('definition').getByText('demo-web').waitFor();
  await savePicture(page, 'console-why-by-reference');
  expect(performance.now() - began).toBeLessThan(60_000);
});

it('lets an administrator take away what a leaver had, of which nothing is left', async () => {
  const { issuer } = demo;
  const laptop = await (await browser.newContext()).newPage();
  await laptop.goto(`${issuer}/demo/sign-in`);
  await signInAsAdministrator(laptop, 'lise');
  await laptop.getByRole('heading', { name: 'Signed in' }).waitFor();
  const [, refreshToken = ''] =
    /"refreshToken": "([^"]+)"/.exec((await laptop.textContent('body')) ?? '') ?? [];
  const page = await atTheConsole('boss');
  const began = performance.now();
  await page.getByRole('link', { name: 'Organizations' }).click();
  await page.getByRole('link', { name: 'Demo', exact: true }).click();
  await page.getByRole('link', { name: 'People', exact: true }).click();
  await page.getByLabel(/Name, user name/).fill('meitner');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('link', { name: 'Lise Meitner' }).click();
  await page.getByRole('heading', { name: 'Lise Meitner' }).waitFor();
  await savePicture(page, 'console-leaver');
  // Enabling the account again must not give the rights back.
  await page.getByRole('link', { name: 'Change roles' }).click();
  for (const role of ['clerk', 'tessera.auditor']) await page.getByLabel(role, { exact: true }).uncheck();
  await savePicture(page, 'console-roles-of-person');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'The roles are changed' }).waitFor();
  await page.getByRole('link', { name: 'Back to this person' }).click();
  await page.getByRole('link', { name: 'Disable' }).click();
  await page.getByText('1 session ends').waitFor();
  await page.getByText('1 application loses its access').waitFor();
  await savePicture(page, 'console-disable');
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('heading', { name: 'This person is disabled' }).waitFor();
  await page.getByRole('link', { name: 'Back to this person' }).click();
  await page.getByText('This person is signed in nowhere.').waitFor();
  await page.getByText('No application keeps access to this account.').waitFor();
  expect(await page.getByText('clerk').count()).toBe(0);
  expect(performance.now() - began).toBeLessThan(60_000);

  const refreshed = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: 'demo-web',
      refresh_token: refreshToken,
    }),
  });
  expect(refreshToken).toMatch(/^tr_/);
  expect([refreshed.status, await refreshed.json()]).toMatchObject([400, { error: 'invalid_grant' }]);
  await laptop.goto(`${issuer}/account?tenant=demo`);
  await signInAsAdministrator(laptop, 'lise');
  await laptop.getByText(/wrong/i).first().waitFor();
});

/** Presses Tab until what is named has the keyboard; each stop on the way shows that it has it. */
async function tabTo(page: Page, name: string, role = 'link'): Promise<void> {
  const wanted = page.getByRole(role as 'link', { name, exact: true });
  await wanted.waitFor();
  for (let stops = 0; stops < 60; stops += 1) {
    if ((await wanted.and(page.locator(':focus')).count()) > 0) return;
    await page.keyboard.press('Tab');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  }
  throw new Error(`no key leads to ${name}`);
}

it('lets a help desk sign in and lock an account down with the keyboard alone', async () => {
  const page = await (await browser.newContext()).newPage();
  const { keyboard } = page;
  await page.goto(`${demo.console}/o/demo/people`);
  const began = performance.now();
  await tabTo(page, 'Identifier of your organization', 'textbox');
  await keyboard.press('ControlOrMeta+A');
  await keyboard.press('Delete');
  await keyboard.press('Enter');
  // The first field has the keyboard.
  await page.getByLabel(/user name/i).waitFor();
  await keyboard.type('helper');
  await tabTo(page, 'Password', 'textbox');
  await keyboard.type(passwordOfAdministrators);
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'People' }).waitFor();
  await tabTo(page, 'Skip to the content');
  await keyboard.press('Enter');
  await keyboard.press('Tab');
  await keyboard.type('hopper');
  await keyboard.press('Enter');
  await page.waitForURL(/q=hopper/);
  await tabTo(page, 'Grace Hopper');
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Grace Hopper' }).waitFor();
  await tabTo(page, 'Lock down');
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Lock this account down?' }).waitFor();
  await tabTo(page, 'Lock down', 'button');
  await keyboard.press('Space');
  await page.getByRole('heading', { name: 'The account is locked down' }).waitFor();
  expect(performance.now() - began).toBeLessThan(60_000);
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
