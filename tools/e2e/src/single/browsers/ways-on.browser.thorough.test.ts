import { launchChromium } from '@tessera/test-kit';
import { eventually } from '@tessera/test-kit/provision';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoServer, type DemoServer } from '../../harness/browser/demo-server.ts';
import { savePicture } from '../../harness/browser/picture.ts';
import { expectAccessible } from './accessible.ts';

const password = 'a passphrase that eve chose';

/** People whose sign-in is over, or who come where there is nothing for them. */
describe('a page that could end nowhere, in a real Chromium', () => {
  let server: DemoServer;
  let baseUrl: string;
  let browser: Browser;

  beforeAll(async () => {
    server = await startDemoServer({ TESSERA_AUTHORIZATION_REQUEST_TTL: '30s' });
    ({ baseUrl } = server);
    browser = await launchChromium();
    await server.call('Create', { user: { username: 'eve', password } });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  async function withContext(work: (context: BrowserContext, page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext();
    try {
      await work(context, await context.newPage());
    } finally {
      await context.close();
    }
  }

  const heading = async (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
  async function look(page: Page, name: string): Promise<void> {
    await expectAccessible(page);
    await savePicture(page, `ways-on-${name}`);
  }

  async function send(page: Page): Promise<void> {
    await page.getByLabel(/user name/i).fill('eve');
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  it('a sign-in page that was left open begins anew, and ends at the application', async () => {
    await withContext(async (context, page) => {
      await page.goto(`${baseUrl}/demo/sign-in`);
      await heading(page, 'Sign in');
      const other = await context.newPage();
      await eventually('the sign-in has expired', async () => {
        await other.goto(page.url());
        return (await other.getByRole('heading', { name: 'This sign-in has expired' }).count()) === 1;
      });
      await send(page);
      await heading(page, 'This sign-in has expired');
      await look(page, 'expired');
      expect(await page.getByText('authorization context').count()).toBe(0);
      await link(page, 'Continue to Demo Web').click();
      await heading(page, 'Sign in');
      await send(page);
      await heading(page, 'Signed in');
    });
  });

  it('who goes back after signing in is led to their account, and not to the request that was answered, and who keeps the address signs in from it', async () => {
    let address = '';
    await withContext(async (_context, page) => {
      await page.goto(`${baseUrl}/demo/sign-in`);
      await heading(page, 'Sign in');
      address = page.url();
      await send(page);
      await heading(page, 'Signed in');
      await page.goBack();
      expect(page.url()).toBe(address);
      await heading(page, 'You are already signed in');
      await look(page, 'completed');
      expect(await link(page, 'Continue to Demo Web').count()).toBe(0);
      await link(page, 'Go to your account').click();
      await heading(page, 'Your account');
    });
    await withContext(async (_context, page) => {
      await page.goto(address);
      await heading(page, 'This sign-in has expired');
      await link(page, 'Continue to Demo Web').click();
      await heading(page, 'Sign in');
      await send(page);
      await page.waitForURL((url) => url.pathname === '/demo/callback');
    });
  });

  it('who names an organization that does not exist is told so, and names another one', async () => {
    await withContext(async (_context, page) => {
      for (const path of ['account', 'approvals', 'password', 'password/forgot', 'register']) {
        await page.goto(`${baseUrl}/${path}?tenant=nosuch`);
        await heading(page, 'Your organization');
        await page
          .getByRole('alert')
          .filter({ hasText: 'There is no organization with this name.' })
          .waitFor();
        expect(await page.getByText('your account at').count()).toBe(0);
      }
      await page.goto(`${baseUrl}/account?tenant=nosuch`);
      await look(page, 'no-such-organization');
      await page.getByLabel('Organization').fill('demo');
      await page.getByRole('button', { name: 'Continue' }).click();
      await heading(page, 'Sign in');
    });
  });

  it('who may not create an account is told before filling in a form', async () => {
    await withContext(async (_context, page) => {
      await page.goto(`${baseUrl}/register?tenant=demo`);
      await heading(page, 'You cannot create an account here');
      await look(page, 'closed-registration');
      await link(page, 'Go to your account').click();
      await heading(page, 'Sign in');
    });
  });

  it('a browser with too many cookies is told what to do, and 17 KB of them are read', async () => {
    await withContext(async (context, page) => {
      const fill = async (count: number) =>
        context.addCookies(
          Array.from({ length: count }, (_, index) => ({
            name: `_ga_${index}`,
            value: 'x'.repeat(1000),
            url: baseUrl,
          })),
        );
      await fill(17);
      await page.goto(`${baseUrl}/account?tenant=demo`);
      await heading(page, 'Sign in');
      await fill(80);
      await page.goto(`${baseUrl}/account?tenant=demo`);
      await heading(page, 'Your browser sent too many cookies');
      await savePicture(page, 'ways-on-too-many-cookies');
      await context.clearCookies();
      await link(page, 'Go to your account').click();
      await heading(page, 'Your organization');
    });
  });
});
