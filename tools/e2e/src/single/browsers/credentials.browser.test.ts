import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually, launchChromium } from '@tessera/test-kit';
import { URI } from 'otpauth';
import { startDemoServer, type DemoServer } from '../../harness/browser/demo-server.ts';
import { savePicture } from '../../harness/browser/picture.ts';
import { expectAccessible } from './accessible.ts';

const password = 'a passphrase that eve chose';

/** People who set their passwords and second factors, beside `npm start`. */
describe('the pages of credentials in a real Chromium', () => {
  let server: DemoServer;
  let baseUrl: string;
  let browser: Browser;

  beforeAll(async () => {
    server = await startDemoServer();
    ({ baseUrl } = server);
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  const call: DemoServer['call'] = async (...request) => server.call(...request);

  async function withPage(work: (page: Page) => Promise<void>, javaScriptEnabled = true): Promise<void> {
    const context = await browser.newContext({ javaScriptEnabled });
    try {
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/.test(message.text())) complaints.push(message.text());
      });
      await work(page);
      expect(complaints).toEqual([]);
    } finally {
      await context.close();
    }
  }

  const heading = async (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  const look = async (page: Page, name: string) => savePicture(page, `credentials-${name}`);

  async function choose(page: Page, chosen: string, repeated = chosen): Promise<void> {
    await page.getByLabel('New password', { exact: true }).fill(chosen);
    await page.getByLabel('New password again').fill(repeated);
    await page.getByRole('button', { name: 'Set password' }).click();
  }

  async function signIn(page: Page, username: string, with_: string): Promise<void> {
    await page.goto(`${baseUrl}/demo/sign-in`);
    await page.getByLabel(/user name/i).fill(username);
    await page.getByLabel('Password').fill(with_);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  it('a person who has forgotten the password is mailed a link, chooses a new one and signs in', async () => {
    const username = 'mallory-the-forgetful';
    await call('Create', { user: { username, email: 'forgetful@demo.example', password: 'soon forgotten' } });
    await withPage(async (page) => {
      await page.goto(`${baseUrl}/demo/sign-in`);
      await page.getByRole('link', { name: 'Forgot your password?' }).click();
      await heading(page, 'Choose a new password');
      await look(page, 'forgotten');
      await expectAccessible(page);
      await page.getByLabel(/user name/i).fill('Forgetful@demo.example');
      await page.getByRole('button', { name: 'Send the link' }).click();
      await heading(page, 'Check your email');
      await page.goto(`${baseUrl}/demo/mailbox`);
      await heading(page, 'Mailbox');
      await page.getByRole('heading', { level: 2, name: 'Your password at Demo' }).waitFor();
      await look(page, 'mailbox');
      const link = await page.getByRole('link').first().getAttribute('href');
      await page.getByRole('link').first().click();
      await heading(page, 'Choose a new password');
      await choose(page, password);
      await heading(page, 'Your password is set');
      await signIn(page, username, password);
      await heading(page, 'Signed in');
      await page.goto(link ?? '');
      await heading(page, 'This link is not valid');
      expect(server.output).not.toContain(new URL(link ?? '').searchParams.get('link'));
      expect(server.output).not.toContain('forgetful@demo.example');
    });
  });

  it.each([true, false])(
    'an invited person opens the link, chooses a password and signs in, with script %s',
    async (javaScriptEnabled) => {
      const username = `eve-${String(javaScriptEnabled)}`;
      const { userId } = await call('Create', { user: { username } });
      const { uri = '' } = await call('CreatePasswordLink', { userId, purpose: 'invitation' });
      await withPage(async (page) => {
        await page.goto(new URL(uri, baseUrl).href);
        await heading(page, 'Welcome');
        expect(await page.getByLabel('User name').inputValue()).toBe(username);
        await look(page, 'invitation');
        await choose(page, password, `${password}?`);
        await page.getByRole('alert').filter({ hasText: 'The two passwords differ.' }).waitFor();
        await choose(page, 'password1');
        await page.getByRole('alert').filter({ hasText: 'most common passwords' }).waitFor();
        await look(page, 'refused');
        await choose(page, password);
        await heading(page, 'Your password is set');
        expect(page.url()).toBe(`${baseUrl}/password/link?tenant=demo`);
        await look(page, 'set');
        await page.goto(new URL(uri, baseUrl).href);
        await heading(page, 'This link is not valid');
        await look(page, 'link-not-valid');
        await signIn(page, username, password);
        await heading(page, 'Signed in');
        expect(server.output).not.toContain(new URL(uri, baseUrl).searchParams.get('link'));
      }, javaScriptEnabled);
    },
  );

  it('a person changes the password, stays signed in here and signs in with the new one elsewhere', async () => {
    const username = 'bob';
    await call('Create', { user: { username, password } });
    const chosen = 'the passphrase after it';
    await withPage(async (page) => {
      await page.goto(`${baseUrl}/password?tenant=demo`);
      await heading(page, 'Sign in');
      await page.getByLabel(/user name/i).fill(username);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await heading(page, 'Change your password');
      await look(page, 'change');
      await page.getByLabel('Current password').fill('wrong');
      await choose(page, chosen);
      await page.getByRole('alert').filter({ hasText: 'Wrong current password' }).waitFor();
      await page.getByLabel('Current password').fill(password);
      await choose(page, chosen);
      await heading(page, 'Your password is changed');
      await look(page, 'changed');
      await page.goto(`${baseUrl}/demo/sign-in`);
      await heading(page, 'Signed in');
    });
    await withPage(async (page) => {
      await signIn(page, username, password);
      await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor();
      await signIn(page, username, chosen);
      await heading(page, 'Signed in');
    });
  });

  it('a tenant asks for a second factor: a person sets up an app, signs in with it, and with a recovery code', async () => {
    await call('Create', { user: { username: 'zoe', password } });
    const policy = async (authenticationPolicy: string) =>
      call('Update', { tenant: { authenticationPolicy }, takeOver: true }, 'TenantsService');
    await policy('second-factor');
    onTestFinished(async () => void (await policy('any')));
    const send = async (page: Page) => page.getByRole('button', { name: 'Continue' }).click();
    const shown = async (page: Page, name: string, picture: string) => {
      await heading(page, name);
      await expectAccessible(page);
      await look(page, picture);
    };
    let recoveryCode = '';
    let enrolmentCode = '';
    await withPage(async (page) => {
      await signIn(page, 'zoe', password);
      await shown(page, 'Set up an authenticator app', 'enrolment');
      const secret = (await page.locator('code').innerText()).replaceAll(' ', '');
      const app = URI.parse(`otpauth://totp/zoe?secret=${secret}`);
      await page.getByLabel('Code', { exact: true }).fill('000000');
      await send(page);
      await page
        .getByRole('alert')
        .filter({ hasText: 'Wrong code. Enter the code that the app shows now.' })
        .waitFor();
      expect((await page.locator('code').innerText()).replaceAll(' ', '')).toBe(secret);
      enrolmentCode = app.generate();
      await page.getByLabel('Code', { exact: true }).fill(enrolmentCode);
      await send(page);
      await shown(page, 'Save your recovery codes', 'recovery-codes');
      const shownCodes = async () => page.locator('ul code').allInnerTexts();
      const codes = await shownCodes();
      expect(codes).toHaveLength(10);
      [recoveryCode = ''] = codes;

      // Who leaves here has neither app nor codes, and is asked again.
      await withPage(async (elsewhere) => {
        await signIn(elsewhere, 'zoe', password);
        await heading(elsewhere, 'Set up an authenticator app');
      });
      await page.reload();
      await heading(page, 'Save your recovery codes');
      expect(await shownCodes()).toEqual(codes);
      // The browser asks, on a page of its own, whether to send the form of an earlier page again.
      await page.goBack().catch(() => undefined);
      await expect.poll(() => page.url()).toMatch(/^chrome-error:/);
      // For a moment Chromium changes the process of that page, and reloads none.
      await eventually('the form is sent again', async () =>
        page.reload().then(
          () => true,
          () => false,
        ),
      );
      await heading(page, 'Save your recovery codes');
      expect(await shownCodes()).toEqual(codes);

      // Another window of the same person is a set-up of its own, and the first whose codes are saved counts.
      await withPage(async (late) => {
        await signIn(late, 'zoe', password);
        await heading(late, 'Set up an authenticator app');
        const key = (await late.locator('code').innerText()).replaceAll(' ', '');
        expect(key).not.toBe(secret);
        await late
          .getByLabel('Code', { exact: true })
          .fill(URI.parse(`otpauth://totp/zoe?secret=${key}`).generate());
        await send(late);
        await heading(late, 'Save your recovery codes');
        const [lateCode = ''] = await late.locator('ul code').allInnerTexts();
        expect(codes).not.toContain(lateCode);
        await page.getByRole('button', { name: "I've saved my codes" }).click();
        await heading(page, 'Signed in');
        await late.getByRole('button', { name: "I've saved my codes" }).click();
        await heading(late, 'Enter your code');
        await late.getByRole('alert').filter({ hasText: 'set up another authenticator app' }).waitFor();
        await shown(late, 'Enter your code', 'other-app');
        await late.getByLabel('Code of your authenticator app').fill(lateCode);
        await send(late);
        await late.getByRole('alert').filter({ hasText: 'Wrong code.' }).waitFor();
        await late.getByLabel('Code of your authenticator app').fill(codes[1] ?? '');
        await send(late);
        await heading(late, 'Signed in');
      });
      expect(await page.getByText('"mfa"').count()).toBeGreaterThan(0);
    });
    await withPage(async (page) => {
      await signIn(page, 'zoe', password);
      await shown(page, 'Enter your code', 'second-factor');
      await page.getByLabel('Code of your authenticator app').fill(enrolmentCode);
      await send(page);
      await page.getByRole('alert').filter({ hasText: 'Wrong code.' }).waitFor();
      await look(page, 'second-factor-refused');
      await page.getByLabel('Code of your authenticator app').fill(recoveryCode);
      await send(page);
      await heading(page, 'Signed in');
    });
    expect(server.output).not.toContain(recoveryCode);
  });

  it('a third-party application asks a person once, who reads who asks, denies and then allows it', async () => {
    for (const username of ['kim', 'kai']) await call('Create', { user: { username, password } });
    await call(
      'Update',
      {
        application: {
          clientId: 'demo-web',
          description: 'Shows your orders.',
          descriptions: { de: 'Zeigt Ihre Bestellungen.' },
          publisher: 'Demo Software',
          homepage: 'https://demo.example/about',
        },
        takeOver: true,
      },
      'ApplicationsService',
    );
    const thirdParty = async (isThirdParty: boolean) =>
      call(
        'Update',
        { application: { clientId: 'demo-web', thirdParty: isThirdParty }, takeOver: true },
        'ApplicationsService',
      );
    await thirdParty(true);
    await withPage(async (page) => {
      await signIn(page, 'kim', password);
      await heading(page, 'Allow access?');
      for (const text of ['Shows your orders.', 'Demo Software']) await page.getByText(text).waitFor();
      expect(await page.getByRole('link', { name: 'demo.example' }).getAttribute('href')).toBe(
        'https://demo.example/about',
      );
      await expectAccessible(page);
      await look(page, 'consent');
      // Somebody else is at the browser.
      await page.getByRole('button', { name: 'Not you?' }).click();
      await heading(page, 'Sign in');
      await page.getByLabel(/user name/i).fill('kai');
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.setExtraHTTPHeaders({ 'accept-language': 'de' });
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByText('bittet um Zugriff auf Ihr Konto kai').waitFor();
      await page.getByText('Zeigt Ihre Bestellungen.').waitFor();
      await page.setExtraHTTPHeaders({});
      await page.getByRole('button', { name: 'Ablehnen' }).click();
      await page.getByText('access_denied').waitFor();
      await page.goto(`${baseUrl}/demo/sign-in`);
      await heading(page, 'Allow access?');
      await page.getByRole('button', { name: 'Allow' }).press('Enter');
      await heading(page, 'Signed in');
      await page.goto(`${baseUrl}/demo/sign-in`);
      await heading(page, 'Signed in');
    });
    await thirdParty(false);
  });
});
