import { launchChromium } from '@tessera/test-kit';
import { eventually } from '@tessera/test-kit/provision';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoServer, type DemoServer } from '../../harness/browser/demo-server.ts';
import { savePicture } from '../../harness/browser/picture.ts';
import { expectAccessible } from './accessible.ts';

const password = 'a passphrase that eve chose';

/** People who sign in with a code that they are mailed. */
describe('a sign-in with a code by mail, in a real Chromium', () => {
  let start: DemoServer;
  let browser: Browser;
  beforeAll(async () => {
    start = await startDemoServer();
    browser = await launchChromium();
    for (const username of ['eve', 'bob'])
      await start.call('Create', { user: { username, email: `${username}@demo.example`, password } });
  });
  afterAll(async () => {
    await browser?.close();
    await start?.stop();
  });

  /** A browser without cookies. */
  async function withPage(work: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext();
    try {
      await work(await context.newPage());
    } finally {
      await context.close();
    }
  }

  const heading = async (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const change = async (tenant: object) => start.call('Update', { tenant, takeOver: true }, 'TenantsService');
  const look = async (page: Page, name: string) => {
    await expectAccessible(page);
    await savePicture(page, `mail-code-${name}`);
  };

  /** The code in the only letter to somebody with this text. */
  async function codeFor(containing: string): Promise<string> {
    let text = '';
    await withPage(async (page) => {
      const mail = page.locator('section').filter({
        has: page.getByRole('heading', { name: 'Your sign-in code for' }),
        hasText: containing,
      });
      await eventually('the mail has come', async () => {
        await page.goto(`${start.baseUrl}/demo/mailbox`);
        return (await mail.count()) > 0;
      });
      text = await mail.first().innerText();
    });
    return /\b\d{8}\b/.exec(text)?.[0] ?? '';
  }

  async function enter(page: Page, code: string): Promise<void> {
    await page.getByLabel('Code').fill(code);
    await button(page, 'Continue').click();
  }

  it('signs in without a password where the organization allows it, and the account page says so', async () => {
    await withPage(async (page) => {
      await page.goto(`${start.baseUrl}/account?tenant=demo`);
      await heading(page, 'Sign in');
      expect(await button(page, 'Email me a code').count()).toBe(0);
    });
    await change({ signInMethods: ['mail-code'] });
    await withPage(async (page) => {
      await page.goto(`${start.baseUrl}/account?tenant=demo`);
      await button(page, 'Email me a code').click();
      await page.getByText('Enter your user name, email address or phone number.').waitFor();
      await page.getByLabel(/user name/i).fill('eve@demo.example');
      await look(page, 'offered');
      await button(page, 'Email me a code').click();
      await heading(page, 'Check your email');
      await look(page, 'asked');
      await enter(page, '00000000');
      await page.getByText('Wrong code. Enter the one from the latest email').waitFor();
      const code = await codeFor('account eve at');
      await enter(page, `${code.slice(0, 4)} ${code.slice(4)}`);
      await heading(page, 'Your account');
      await page.getByRole('navigation').getByRole('link', { name: 'Sign-in methods' }).click();
      await page.getByText('You can sign in with a code that we email to eve@demo.example.').waitFor();
      await look(page, 'account');
    });
  });

  it('shows somebody unknown the same page, and lets them go back to the password', async () => {
    await withPage(async (page) => {
      await page.goto(`${start.baseUrl}/account?tenant=demo`);
      await page.getByLabel(/user name/i).fill('nobody@demo.example');
      await button(page, 'Email me a code').click();
      await heading(page, 'Check your email');
      await page.getByText('If you can use nobody@demo.example here, we emailed you a code.').waitFor();
      await button(page, 'Send another code').click();
      await heading(page, 'Check your email');
      await button(page, 'Sign in another way').click();
      await heading(page, 'Sign in');
    });
  });

  it('is the second factor of who has none, where the organization needs two', async () => {
    await change({ signInMethods: ['mail-code-second'], authenticationPolicy: 'second-factor' });
    await withPage(async (page) => {
      await page.goto(`${start.baseUrl}/account?tenant=demo`);
      expect(await button(page, 'Email me a code').count()).toBe(0);
      await page.getByLabel(/user name/i).fill('bob');
      await page.getByLabel('Password').fill(password);
      await button(page, 'Sign in').click();
      await heading(page, 'Check your email');
      await page.getByText('We emailed a code to b***@demo.example.').waitFor();
      await look(page, 'second');
      await enter(page, await codeFor('account bob at'));
      await heading(page, 'Your account');
    });
  });
});
