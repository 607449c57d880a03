import { createHash } from 'node:crypto';
import { launchChromium } from '@tessera/test-kit';
import { eventually } from '@tessera/test-kit/provision';
import { URI } from 'otpauth';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoServer, type DemoServer } from '../../harness/browser/demo-server.ts';
import { savePicture } from '../../harness/browser/picture.ts';
import { expectAccessible } from './accessible.ts';

const password = 'a passphrase that eve chose';
const hourMs = 3_600_000;

/** People who make, change and close their accounts, with the mail that they get. */
describe('an account of one’s own in a real Chromium', () => {
  let start: DemoServer;
  let browser: Browser;
  beforeAll(async () => {
    const clock = import.meta.resolve('@tessera/test-client/steppable-clock');
    start = await startDemoServer({ NODE_OPTIONS: `--import ${clock}`, TESSERA_SESSION_IDLE_TTL: '6h' });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await start?.stop();
  });

  /** A browser without cookies. */
  async function withPage(
    work: (page: Page) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> {
    const context = await browser.newContext(options);
    try {
      await work(await context.newPage());
    } finally {
      await context.close();
    }
  }

  const heading = async (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const notice = async (page: Page, text: string) =>
    page.getByRole('status').filter({ hasText: text }).waitFor();
  const look = async (page: Page, name: string) => {
    await expectAccessible(page);
    await savePicture(page, `own-account-${name}`);
  };

  async function byPassword(page: Page, username: string, typed = password): Promise<void> {
    await page.getByLabel(/user name/i).fill(username);
    await page.getByLabel('Password').fill(typed);
    await button(page, 'Sign in').click();
  }

  const change = async (tenant: object) => start.call('Update', { tenant, takeOver: true }, 'TenantsService');
  const person = async (username: string, more: object = { password }) =>
    start.call('Create', { user: { username, email: `${username}@demo.example`, ...more } });

  const account = async (page: Page) => page.goto(`${start.baseUrl}/account?tenant=demo`);

  const go = async (page: Page, name: string) => {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await heading(page, name);
  };

  async function signIn(page: Page, username: string): Promise<void> {
    await account(page);
    await byPassword(page, username);
    await heading(page, 'Your account');
  }

  /** The latest mail with this subject and text; its link, if it has one. */
  async function mailed(
    page: Page,
    subject: string,
    containing = '',
  ): Promise<{ readonly text: string; readonly link: string | null }> {
    const mail = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: subject }), hasText: containing });
    await eventually('the mail has come', async () => {
      await page.goto(`${start.baseUrl}/demo/mailbox`);
      return (await mail.count()) > 0;
    });
    const [link] = await mail.first().getByRole('link').all();
    return { text: await mail.first().innerText(), link: (await link?.getAttribute('href')) ?? null };
  }

  /**
   * Steps the clock of the server, until its log says how far it is ahead, and it serves again, having compared its
   * clock with the database's.
   */
  async function step(aheadMs: number): Promise<void> {
    start.signal('SIGWINCH');
    await eventually('the clock has moved', async () => {
      const before = start.output.length;
      await fetch(`${start.baseUrl}/nothing`);
      const [, time = ''] = /"time":"([^"]+)"/.exec(start.output.slice(before)) ?? [];
      return Math.abs(Date.parse(time) - Date.now() - aheadMs) < hourMs / 2;
    });
    const pages = `${start.baseUrl}/account?tenant=demo`;
    await eventually('the clocks were compared', async () => (await fetch(pages)).status === 200);
  }

  async function choosePassword(page: Page): Promise<void> {
    await page.getByLabel('New password', { exact: true }).fill(password);
    await page.getByLabel('New password again').fill(password);
    await button(page, 'Set password').click();
  }

  async function register(page: Page, email: string): Promise<void> {
    await page.goto(`${start.baseUrl}/demo/sign-in`);
    await page.getByRole('link', { name: 'Create an account' }).click();
    await heading(page, 'Create an account');
    await page.getByLabel('Email address').fill(email);
    await button(page, 'Send the link').click();
    await heading(page, 'Check your email');
  }

  /** Of an application that is a page of the server itself. */
  const redirectUri = () => `${start.baseUrl}/readyz`;

  /** Asks for tokens as an application does. */
  async function redeem(parameters: Record<string, string>) {
    const body = new URLSearchParams({ client_id: 'closing-web', ...parameters });
    const answer = await fetch(`${start.baseUrl}/token`, { method: 'POST', body });
    return (await answer.json()) as { readonly refresh_token?: string; readonly error?: string };
  }

  /** The tokens of an application at which the person of the page signs in. */
  async function tokensOf(page: Page) {
    const verifier = 'v'.repeat(43);
    const query = new URLSearchParams({
      client_id: 'closing-web',
      redirect_uri: redirectUri(),
      response_type: 'code',
      scope: 'openid offline_access',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    await page.goto(`${start.baseUrl}/authorize?${query.toString()}`);
    const code = new URL(page.url()).searchParams.get('code') ?? '';
    const grant = { grant_type: 'authorization_code', code, code_verifier: verifier };
    return redeem({ ...grant, redirect_uri: redirectUri() });
  }

  it('is made by anybody with an address, where registration is open, and goes on where they were', async () => {
    await change({ registration: 'open' });
    await withPage(async (page) => {
      await register(page, 'rae@new.example');
      await look(page, 'registration-sent');
      const { link } = await mailed(page, 'Your registration at Demo');
      await page.goto(link ?? '');
      await heading(page, 'Create your account');
      await look(page, 'registration-link');
      await choosePassword(page);
      await heading(page, 'Sign in');
      await byPassword(page, 'rae@new.example');
      await heading(page, 'Signed in');
      await page.goto(link ?? '');
      await heading(page, 'This link is not valid');
      // A person who tries the address again sees the same; its owner is told.
      await page.context().clearCookies();
      await register(page, 'RAE@new.example');
      const again = 'There is an account with this address at Demo already.';
      expect((await mailed(page, 'Your registration at Demo', again)).link).toContain('/password/forgot?');
      expect(start.output).not.toContain('rae@new.example');
    });
  });

  it('is made by people whom an administrator invited, where nobody else may', async () => {
    await change({ registration: 'invitation' });
    await person('ivy', {});
    await withPage(async (page) => {
      await register(page, 'stranger@new.example');
      await register(page, 'ivy@demo.example');
      const { link } = await mailed(page, 'Your account at Demo', 'ivy');
      expect(await page.getByText('stranger@new.example').count()).toBe(0);
      await page.goto(link ?? '');
      await heading(page, 'Welcome');
      await choosePassword(page);
      await heading(page, 'Sign in');
      await byPassword(page, 'ivy');
      await heading(page, 'Signed in');
    });
    await change({ registration: 'closed' });
    await withPage(async (page) => {
      await page.goto(`${start.baseUrl}/demo/sign-in`);
      await heading(page, 'Sign in');
      expect(await page.getByRole('link', { name: 'Create an account' }).count()).toBe(0);
    });
  });

  it('gets another name at once, and another address by the link that is mailed there', async () => {
    await person('may', { name: 'May', password });
    await withPage(async (page) => {
      await signIn(page, 'may');
      await page.getByText('Your email address is not confirmed yet.').waitFor();
      await go(page, 'Profile');
      await page.getByText('Your email address is not confirmed yet.').waitFor();
      await page.getByText('Change your name').click();
      await page.getByLabel('Name', { exact: true }).fill('May Lee');
      await button(page, 'Save').click();
      await notice(page, 'Your name is changed.');
      await page.getByText('Signed in as May Lee').first().waitFor();
      await page.getByText('Change your email address').click();
      await page.getByLabel('New email address').fill('may@new.example');
      await look(page, 'profile');
      await button(page, 'Send the link').click();
      await notice(page, 'If this address can be yours');
      const { link } = await mailed(page, 'Your email address at Demo', 'may@new.example');
      await page.goto(link ?? '');
      await heading(page, 'Is this your email address?');
      await button(page, 'Confirm the address').click();
      await heading(page, 'Your email address is confirmed');
      await mailed(page, 'A change to your account at Demo', 'may@demo.example');
      await account(page);
      await go(page, 'Profile');
      await page.getByText('may@new.example').waitFor();
      expect(await page.getByText('Your email address is not confirmed yet.').count()).toBe(0);
    });
  });

  it('of a declared person is changed in the file, which the page says', async () => {
    await withPage(async (page) => {
      await account(page);
      await byPassword(page, 'ada', 'correct horse battery staple');
      await heading(page, 'Your account');
      await go(page, 'Profile');
      await page.getByText('Your organization manages your name and your email address.').waitFor();
      expect(await page.getByText('Change your name').count()).toBe(0);
    });
  });

  it('is told of a sign-in with another browser, as the page names it', async () => {
    await person('sam');
    const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
    await withPage(async (page) => signIn(page, 'sam'));
    await withPage(
      async (page) => {
        await signIn(page, 'sam');
        await go(page, 'Devices');
        await page.getByRole('heading', { name: 'Firefox on Linux' }).waitFor();
        const { text, link } = await mailed(page, 'New sign-in to your account at Demo', 'sam@demo.example');
        expect(text).toContain('Firefox on Linux');
        await page.goto(link ?? '');
        await heading(page, 'Devices');
      },
      { userAgent },
    );
  });

  it('is closed by its person where the tenant lets them: no session, token or sign-in is left', async () => {
    await person('gil');
    const application = {
      clientId: 'closing-web',
      name: 'Web',
      type: 'public',
      redirectUris: [redirectUri()],
    };
    const grants = {
      grantTypes: ['authorization_code', 'refresh_token'],
      scopes: ['openid', 'offline_access'],
    };
    await start.call('Create', { application: { ...application, ...grants } }, 'ApplicationsService');
    await withPage(async (page) => {
      await signIn(page, 'gil');
      const { refresh_token: first = '' } = await tokensOf(page);
      const { refresh_token: second = '' } = await redeem({
        grant_type: 'refresh_token',
        refresh_token: first,
      });
      expect(second).toMatch(/^tr_/);
      await account(page);
      await go(page, 'Profile');
      expect(await page.getByRole('heading', { name: 'Close your account' }).count()).toBe(0);
      await change({ accountClosing: true });
      await withPage(async (other) => {
        await signIn(other, 'gil');
        await go(other, 'Profile');
        await button(other, 'Close account').click();
        await heading(other, 'Close your account?');
        await look(other, 'closing');
        await button(other, 'Close account').click();
        await heading(other, 'Your account is closed');
        await look(other, 'closed');
        await mailed(other, 'A change to your account at Demo', 'Your account gil was closed');
      });
      await account(page);
      await heading(page, 'Sign in');
      await byPassword(page, 'gil');
      await page.getByRole('alert').filter({ hasText: 'Wrong user name or password.' }).waitFor();
      const { error } = await redeem({ grant_type: 'refresh_token', refresh_token: second });
      expect(error).toBe('invalid_grant');
    });
    await change({ accountClosing: false });
  });

  it('loses its authenticator app only after its person signed in again with a code', async () => {
    await person('tia');
    await withPage(async (page) => {
      await signIn(page, 'tia');
      await go(page, 'Sign-in methods');
      await button(page, 'Set up an authenticator app').click();
      const secret = (await page.locator('code').innerText()).replaceAll(' ', '');
      const app = URI.parse(`otpauth://totp/tia?secret=${secret}`);
      await page.getByLabel('Code', { exact: true }).fill(app.generate());
      await button(page, 'Continue').click();
      await button(page, "I've saved my codes").click();
      await heading(page, 'Sign-in methods');
      await step(hourMs);
      try {
        const remove = async () => {
          const factors = page.getByRole('region', { name: 'Authenticator app' });
          await factors.getByRole('button', { name: 'Remove authenticator app' }).click();
          await heading(page, 'Remove the authenticator app?');
          await button(page, 'Remove authenticator app').click();
        };
        await remove();
        await heading(page, 'Confirm that it is you');
        await byPassword(page, 'tia');
        await heading(page, 'Enter your code');
        const code = app.generate({ timestamp: Date.now() + hourMs });
        await page.getByLabel('Code of your authenticator app').fill(code);
        await button(page, 'Continue').click();
        await notice(page, 'You have confirmed that it is you.');
        await remove();
        await notice(page, 'The authenticator app is removed.');
        await page.getByText('You have no authenticator app.').waitFor();
      } finally {
        await step(0);
      }
    });
  });
});
