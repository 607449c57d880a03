import { createHash } from 'node:crypto';
import { launchChromium } from '@tessera/test-kit';
import { URI } from 'otpauth';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoServer, type DemoServer } from '../../harness/browser/demo-server.ts';
import { withDevice as lendDevice, type Device } from '../../harness/browser/person-with-device.ts';
import { startRedirectTarget } from '../../harness/browser/redirect-target.ts';
import { savePicture } from '../../harness/browser/picture.ts';
import { expectAccessible } from './accessible.ts';

const password = 'a passphrase that eve chose';
const verifier = 'v'.repeat(43);

/** People at their account page, beside `npm start`. */
describe('the account page in a real Chromium', () => {
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
  const withDevice = async (
    work: (device: Device) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> =>
    lendDevice(
      browser,
      async (device) => {
        await device.noAutofill();
        await work(device);
      },
      options,
    );

  const heading = async (page: Page, name: string) =>
    page
      .getByRole('heading', { level: 1, name })
      .waitFor()
      .catch(async (error: unknown) => {
        throw new Error(`Another page: ${(await page.locator('h1').allInnerTexts()).join('\n')}`, {
          cause: error,
        });
      });
  const look = async (page: Page, name: string) => {
    await expectAccessible(page);
    await savePicture(page, `account-${name}`);
  };
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const notice = async (page: Page, text: string) =>
    page.getByRole('status').filter({ hasText: text }).waitFor();
  const open = async (page: Page, name = '') => page.goto(`${baseUrl}/account${name}?tenant=demo`);
  const ready = async (page: Page) => heading(page, 'Your account');
  const methods = async (page: Page) => heading(page, 'Sign-in methods');
  /** By the navigation, from one page of the account to another. */
  const go = async (page: Page, name: string) => {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await heading(page, name);
  };

  async function byPassword(page: Page, username: string): Promise<void> {
    await page.getByLabel(/user name/i).fill(username);
    await page.getByLabel('Password').fill(password);
    await button(page, 'Sign in').click();
  }

  /** Opens the account, by password; a passkey is created if that is asked. */
  async function signIn(page: Page, username: string, passkey: 'Create a passkey' | 'Not now') {
    await open(page);
    await byPassword(page, username);
    await heading(page, 'Sign in without a password next time?');
    await button(page, passkey).click();
    await ready(page);
  }

  /** Presses Tab until this is reached, then Enter: without a mouse. */
  async function byKeyboard(page: Page, name: string): Promise<void> {
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate('document.activeElement.innerText');
      if (focused === name) return page.keyboard.press('Enter');
    }
    throw new Error(`${name} is not reached by keyboard`);
  }

  it('a person adds a second passkey, names it, and removes the first after signing in with a passkey', async () => {
    await call('Create', { user: { username: 'ann', name: 'Ann Lee', email: 'ann@demo.example', password } });
    await withDevice(async (device) => {
      const { page } = device;
      await signIn(page, 'ann', 'Create a passkey');
      await device.replace();
      await page.getByText('You have no recovery codes. Get some now').waitFor();
      await look(page, 'overview');
      await byKeyboard(page, 'Sign-in methods');
      await methods(page);
      await byKeyboard(page, 'Add a passkey');
      await heading(page, 'Create a passkey');
      await look(page, 'add-passkey');
      await button(page, 'Create a passkey').press('Enter');
      await methods(page);
      const passkeys = page.getByRole('region', { name: 'Passkeys' });
      expect(await passkeys.getByRole('listitem').count()).toBe(2);
      await byKeyboard(page, 'Rename');
      await page.keyboard.press('Tab');
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.type('Old phone');
      await page.keyboard.press('Enter');
      await notice(page, "You've renamed the passkey.");
      await look(page, 'passkeys');

      // A password is not enough to remove a passkey: the person has a second factor.
      await page.context().clearCookies();
      await open(page, '/sign-in');
      await byPassword(page, 'ann');
      await methods(page);
      const remove = async () => {
        const old = passkeys.getByRole('listitem').filter({ hasText: 'Old phone' });
        await old.getByRole('button', { name: 'Remove passkey' }).click();
        await heading(page, 'Remove this passkey?');
        await look(page, 'remove-passkey');
        await button(page, 'Remove passkey').click();
      };
      await remove();
      await heading(page, 'Confirm that it is you');
      await look(page, 'confirm');
      await button(page, 'Use a passkey').click();
      await notice(page, 'You have confirmed that it is you.');
      await remove();
      // Signed in with a passkey alone, which may be the one that is gone.
      await heading(page, 'Sign in');
      await button(page, 'Use a passkey').click();
      await methods(page);
      expect(await passkeys.getByRole('listitem').count()).toBe(1);
      expect(await passkeys.getByText('Old phone').count()).toBe(0);
    });
  });

  it('a person who has lost the device gets in with a recovery code, and removes the lost passkey', async () => {
    await call('Create', { user: { username: 'liv', password } });
    await withDevice(async (device) => {
      const { page } = device;
      await signIn(page, 'liv', 'Create a passkey');
      await go(page, 'Sign-in methods');
      await button(page, 'Get new recovery codes').click();
      await heading(page, 'Save your recovery codes');
      const [recoveryCode = ''] = await page.locator('ul code').allInnerTexts();
      await look(page, 'new-recovery-codes');
      const other = await page.context().newPage();
      await open(other, '/sign-in');
      await other.getByText('You have no recovery codes.').waitFor();
      await other.close();
      await button(page, "I've saved my codes").click();
      await methods(page);
      await page.getByText('You have 10 recovery codes left.').waitFor();
      await page.getByRole('link', { name: 'Overview' }).click();
      await ready(page);
      await page.getByText('All is well.').waitFor();

      await device.replace();
      await page.context().clearCookies();
      await open(page, '/sign-in');
      await byPassword(page, 'liv');
      await methods(page);
      const remove = async () => {
        const passkeys = page.getByRole('region', { name: 'Passkeys' });
        await passkeys.getByRole('button', { name: 'Remove passkey' }).click();
        await heading(page, 'Remove this passkey?');
        await button(page, 'Remove passkey').click();
      };
      await remove();
      await heading(page, 'Confirm that it is you');
      await byPassword(page, 'liv');
      await heading(page, 'Use your passkey');
      await page.getByText('Lost your passkey?').click();
      await look(page, 'lost-passkey');
      await page.getByLabel('Recovery code').fill('00000-00000');
      await button(page, 'Continue').click();
      await page.getByRole('alert').filter({ hasText: 'Wrong code.' }).waitFor();
      await page.getByLabel('Recovery code').fill(recoveryCode);
      await button(page, 'Continue').click();
      await heading(page, 'Sign in without a password next time?');
      await button(page, 'Not now').click();
      await notice(page, 'You have confirmed that it is you.');
      await remove();
      await notice(page, 'The passkey is removed.');
      await page.getByText('You have no passkey.').waitFor();
      expect(server.output).not.toContain(recoveryCode);
    });
  });

  it('a person sets up an app and removes it, which signs out every other browser', async () => {
    await call('Create', { user: { username: 'max', password } });
    await withDevice(async ({ page }) => {
      await signIn(page, 'max', 'Not now');
      await page.getByText('You have no second way to sign in.').waitFor();
      await page.getByRole('main').getByRole('link', { name: 'Sign-in methods' }).last().click();
      await methods(page);
      await button(page, 'Set up an authenticator app').click();
      await heading(page, 'Set up an authenticator app');
      await look(page, 'set-up-app');
      const secret = (await page.locator('code').innerText()).replaceAll(' ', '');
      const app = URI.parse(`otpauth://totp/max?secret=${secret}`);
      await page.getByLabel('Code', { exact: true }).fill(app.generate());
      await button(page, 'Continue').click();
      await heading(page, 'Save your recovery codes');
      await look(page, 'recovery-codes-of-app');
      const codes = await page.locator('ul code').allInnerTexts();
      const [, recoveryCode = ''] = codes;

      // Nothing is set up yet, and nobody is signed out: not the other tab, and no other browser is asked for a code.
      const tab = await page.context().newPage();
      await open(tab, '/sign-in');
      await methods(tab);
      await tab.getByText('You have no authenticator app.').waitFor();
      await withDevice(async ({ page: before }) => {
        await open(before);
        await byPassword(before, 'max');
        await heading(before, 'Sign in without a password next time?');
      });
      await page.reload();
      await heading(page, 'Save your recovery codes');
      expect(await page.locator('ul code').allInnerTexts()).toEqual(codes);
      await button(page, "I've saved my codes").dblclick();
      await methods(page);
      await page.getByText('You have 10 recovery codes left.').waitFor();
      await tab.reload();
      await methods(tab);
      await tab.getByText('You have an authenticator app.').waitFor();
      await tab.close();
      await withDevice(async ({ page: other }) => {
        await open(other);
        await byPassword(other, 'max');
        await other.getByLabel('Code of your authenticator app').fill(recoveryCode);
        await button(other, 'Continue').click();
        await other.getByRole('heading', { level: 1 }).filter({ hasNotText: 'Enter your code' }).waitFor();
        const later = button(other, 'Not now');
        if ((await later.count()) > 0) await later.click();
        await ready(other);

        const factors = page.getByRole('region', { name: 'Authenticator app' });
        await factors.getByRole('button', { name: 'Remove authenticator app' }).click();
        await heading(page, 'Remove the authenticator app?');
        await look(page, 'remove-app');
        await button(page, 'Remove authenticator app').click();
        await notice(page, 'The authenticator app is removed.');
        await page.getByText('You have no authenticator app.').waitFor();
        await open(other);
        await heading(other, 'Sign in');
      });
      await page.reload();
      await methods(page);
    });
  });

  it('a person signs out another browser, and takes the access of an application back', async () => {
    await call('Create', { user: { username: 'tom', name: 'Tom', password } });
    const clientId = 'account-partner';
    const redirectUri = await startRedirectTarget();
    await call(
      'Create',
      {
        application: {
          clientId,
          name: 'Partner',
          type: 'public',
          grantTypes: ['authorization_code', 'refresh_token'],
          redirectUris: [redirectUri],
          scopes: ['openid', 'profile', 'offline_access'],
          thirdParty: true,
        },
      },
      'ApplicationsService',
    );
    const token = async (parameters: Record<string, string>) => {
      const body = new URLSearchParams({ client_id: clientId, ...parameters });
      const answer = await fetch(`${baseUrl}/token`, { method: 'POST', body });
      return (await answer.json()) as { readonly refresh_token?: string; readonly error?: string };
    };
    await withDevice(async ({ page }) => {
      await signIn(page, 'tom', 'Not now');
      const asked = new URLSearchParams({
        client_id: clientId,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'openid profile offline_access',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      });
      await page.goto(`${baseUrl}/authorize?${asked.toString()}`);
      await button(page, 'Allow').click();
      await page.getByText('Back').waitFor();
      const code = new URL(page.url()).searchParams.get('code') ?? '';
      const redeemed = { grant_type: 'authorization_code', code, code_verifier: verifier };
      const { refresh_token: first = '' } = await token({ ...redeemed, redirect_uri: redirectUri });
      const { refresh_token: second = '' } = await token({
        grant_type: 'refresh_token',
        refresh_token: first,
      });
      expect(second).toMatch(/^tr_/);

      const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
      await withDevice(
        async ({ page: other }) => {
          await signIn(other, 'tom', 'Not now');
          await open(page, '/devices');
          await heading(page, 'Devices');
          await look(page, 'devices');
          const there = page.getByRole('listitem').filter({ hasText: 'Firefox on Linux' });
          await there.getByRole('button', { name: 'Sign out there' }).click();
          await notice(page, 'That browser is signed out.');
          await open(other);
          await heading(other, 'Sign in');
        },
        { userAgent },
      );

      await go(page, 'Applications');
      await look(page, 'applications');
      await button(page, 'Remove access').click();
      await heading(page, 'Remove the access of this application?');
      await button(page, 'Remove access').click();
      await notice(page, 'The application no longer has access.');
      await go(page, 'Activity');
      await page.getByText('You removed the access of Partner.').waitFor();
      await look(page, 'activity');
      expect((await token({ grant_type: 'refresh_token', refresh_token: second })).error).toBe(
        'invalid_grant',
      );
      await page.goto(`${baseUrl}/authorize?${asked.toString()}`);
      await heading(page, 'Allow access?');
    });
  });
});
