import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium, installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { tokensOf, type Environment } from '@tessera/test-client';
import { expectError } from '../../harness/flows.ts';
import { poll, startCiba, startDevice } from '../../harness/out-of-band.ts';
import { people } from '../../harness/declared-state.ts';
import { savePicture } from '../../harness/browser/picture.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';
import { expectAccessible } from './accessible.ts';

/** People who decide on the pages, with a real browser. */
describe('the pages of device flow and CIBA in a real Chromium', () => {
  let system: System;
  let browser: Browser;

  beforeAll(async () => {
    system = await started({ TESSERA_DEVICE_POLL_INTERVAL: '1s', TESSERA_APPROVAL_MAX_AGE: '60s' });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await system?.stop();
  });

  async function started(environment: Environment): Promise<System> {
    const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() };
    return startSystem(setUps.compact, { stores, environment });
  }

  async function withPage(
    work: (page: Page) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> {
    const context = await browser.newContext({ viewport: { width: 1000, height: 760 }, ...options });
    try {
      const page = await context.newPage();
      const problems: string[] = [];
      page.on('pageerror', (error) => problems.push(error.message));
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/.test(message.text())) problems.push(message.text());
      });
      await work(page);
      expect(problems).toEqual([]);
    } finally {
      await context.close();
    }
  }

  async function signIn(page: Page, person: { username: string; password: string }): Promise<void> {
    await page.getByLabel(/user name|email|phone/i).fill(person.username);
    await page.getByLabel('Password').fill(person.password);
    await page.getByRole('button', { name: /sign in/i }).click();
  }

  async function enter(page: Page, userCode: string): Promise<void> {
    await page.getByLabel('Code').fill(userCode);
    await page.getByRole('button', { name: 'Continue' }).click();
  }

  async function look(page: Page, name: string): Promise<void> {
    await savePicture(page, name);
    await expectAccessible(page);
  }

  const heading = async (page: Page, name: string): Promise<void> =>
    page.getByRole('heading', { level: 1, name }).waitFor();

  it('approves a device: wrong code, sign-in, confirmation, done', async () => {
    await withPage(async (page) => {
      const { deviceCode, userCode } = await startDevice(system.http);
      await page.goto(`${system.baseUrl}/device`);
      await heading(page, 'Connect a device');
      await look(page, 'device-code');
      await enter(page, 'BBBB-BBBB');
      await page.getByRole('alert').filter({ hasText: 'not valid' }).waitFor();
      await look(page, 'device-wrong-code');
      await enter(page, userCode);
      await heading(page, 'Sign in');
      await look(page, 'device-sign-in');
      await signIn(page, people.ada);
      await heading(page, 'Connect this device?');
      for (const text of [userCode, 'Acme TV', 'orders.read', '127.0.0.1']) {
        expect(await page.locator('main').innerText()).toContain(text);
      }
      await look(page, 'device-confirm');
      await page.getByRole('button', { name: 'Approve' }).click();
      await heading(page, 'Device connected');
      await look(page, 'device-connected');
      tokensOf(await poll(system.http, 'device', deviceCode, 'acme-tv'));
    });
  });

  it.each([true, false])(
    'denies a device from its QR code, which still asks first, with script %s',
    async (javaScriptEnabled) => {
      await withPage(
        async (page) => {
          const { deviceCode, userCode, verificationUriComplete } = await startDevice(system.http);
          await page.goto(verificationUriComplete);
          expect(await page.getByLabel('Code').inputValue()).toBe(userCode);
          expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
          if (javaScriptEnabled) await look(page, 'device-code-complete');
          await page.getByRole('button', { name: 'Continue' }).click();
          await signIn(page, people.ada);
          await page.getByRole('button', { name: 'Deny' }).click();
          await heading(page, 'Access denied');
          if (javaScriptEnabled) await look(page, 'device-denied');
          const answer = await poll(system.http, 'device', deviceCode, 'acme-tv');
          expectError(answer, 400, 'access_denied');
        },
        { javaScriptEnabled },
      );
    },
  );

  it('approves a device with script switched off and the keyboard alone', async () => {
    await withPage(
      async (page) => {
        const { deviceCode, userCode } = await startDevice(system.http);
        // A page shows its heading before the browser moves the focus to its first field.
        const focused = async (name: string): Promise<void> =>
          page.locator(`input[name="${name}"]:focus`).waitFor();
        await page.goto(`${system.baseUrl}/device`);
        await focused('user_code');
        await page.keyboard.type(userCode.toLowerCase().replace('-', ''));
        await page.keyboard.press('Enter');
        await heading(page, 'Sign in');
        await focused('identifier');
        await page.keyboard.type(people.ada.username);
        await page.keyboard.press('Tab');
        await focused('password');
        await page.keyboard.type(people.ada.password);
        await page.keyboard.press('Enter');
        await heading(page, 'Connect this device?');
        await page.waitForLoadState();
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await heading(page, 'Device connected');
        tokensOf(await poll(system.http, 'device', deviceCode, 'acme-tv'));
      },
      { javaScriptEnabled: false },
    );
  });

  it('offers a person of another tenant to sign out, and asks for the organization where nobody is signed in', async () => {
    await withPage(async (page) => {
      await page.goto(`${system.baseUrl}/approvals?tenant=globex`);
      await signIn(page, people.eve);
      await heading(page, 'Approvals');
      const { userCode } = await startDevice(system.http);
      await page.goto(`${system.baseUrl}/device?user_code=${userCode}`);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('alert').filter({ hasText: 'not valid' }).waitFor();
      await look(page, 'device-other-tenant');
      await page.getByRole('button', { name: 'Sign out and try again' }).click();
      await page.getByRole('button', { name: 'Continue' }).click();
      await heading(page, 'Sign in');
      await page.goto(`${system.baseUrl}/approvals`);
      await heading(page, 'Your organization');
      await look(page, 'approvals-organization');
    });
  });

  it('shows backchannel requests as they come and go, without a reload, and approves one', async () => {
    await withPage(async (page) => {
      await page.goto(`${system.baseUrl}/approvals?tenant=acme`);
      await look(page, 'approvals-sign-in');
      await signIn(page, people.ada);
      await page.getByText('Nothing is waiting for you.').waitFor();
      await look(page, 'approvals-empty');
      await page.evaluate('window.sameDocument = true');
      const first = await startCiba(system.http, { binding_message: 'Order 4711' });
      await page.getByText('Order 4711').waitFor();
      const second = await startCiba(system.http, {
        client_id: 'acme-till',
        scope: 'openid',
        binding_message: 'Till 7',
        requested_expiry: '8',
      });
      await page.getByText('Till 7').waitFor();
      await page.getByText('2 requests are waiting for you.').waitFor();
      expect(await page.getByRole('button', { name: 'Approve' }).count(), 'one primary action').toBe(1);
      await look(page, 'approvals-two');
      const other = await page.context().newPage();
      await other.goto(`${system.baseUrl}/approvals`);
      expect(await other.getByRole('button', { name: 'Approve' }).count()).toBe(1);
      await other.getByRole('link', { name: 'Review' }).click();
      await other.waitForURL(/[?]request=/);
      await other.close();
      // The second one ends by itself.
      await page.getByText('Till 7').waitFor({ state: 'detached', timeout: 20_000 });
      expect(await page.evaluate('window.sameDocument')).toBe(true);
      expectError(await poll(system.http, 'ciba', second, 'acme-till'), 400, 'expired_token');
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByText('You approved the request.').waitFor();
      await look(page, 'approvals-approved');
      tokensOf(await poll(system.http, 'ciba', first, 'acme-desk'));
    });
  });

  it('denies and approves backchannel requests with script switched off', async () => {
    await withPage(
      async (page) => {
        const denied = await startCiba(system.http, { binding_message: 'Order 1' });
        await page.goto(`${system.baseUrl}/approvals?tenant=acme`);
        await signIn(page, people.ada);
        await page.getByRole('button', { name: 'Deny' }).click();
        await page.getByText('You denied the request.').waitFor();
        expectError(await poll(system.http, 'ciba', denied, 'acme-desk'), 400, 'access_denied');
        const approved = await startCiba(system.http, { binding_message: 'Order 2' });
        await page.getByRole('link', { name: 'Refresh' }).click();
        await savePicture(page, 'approvals-without-script');
        await page.getByRole('button', { name: 'Approve' }).click();
        await page.getByText('You approved the request.').waitFor();
        tokensOf(await poll(system.http, 'ciba', approved, 'acme-desk'));
        await startCiba(system.http, { binding_message: 'Order 3', requested_expiry: '3' });
        await page.getByRole('link', { name: 'Refresh' }).click();
        await page.getByText('Order 3').waitFor();
        await sleep(3100);
        await page.getByRole('button', { name: 'Approve' }).click();
        await page.getByText('The request was no longer pending.').waitFor();
      },
      { javaScriptEnabled: false },
    );
  });

  it('asks for the password again once it was given too long ago, also on a page that is open', async () => {
    const strict = await started({ TESSERA_APPROVAL_MAX_AGE: '2s' });
    try {
      await withPage(async (page) => {
        await page.goto(`${strict.baseUrl}/approvals?tenant=acme`);
        await signIn(page, people.ada);
        await heading(page, 'Approvals');
        await heading(page, 'Confirm that it is you');
        expect(await page.getByLabel(/user name/i).inputValue()).toBe('ada');
        await look(page, 'approvals-confirm-person');
        await signIn(page, people.ada);
        await heading(page, 'Approvals');
      });
    } finally {
      await strict.stop();
    }
  });

  it('fits a small dark screen', async () => {
    await withPage(
      async (page) => {
        await startCiba(system.http, {
          binding_message: 'A message of 64 characters, which is the longest that there may be'.slice(0, 64),
        });
        await page.goto(`${system.baseUrl}/approvals?tenant=acme`);
        await signIn(page, people.ada);
        await page.getByRole('button', { name: 'Approve' }).waitFor();
        expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true);
        await look(page, 'approvals-small-dark');
        const { userCode } = await startDevice(system.http);
        await page.goto(`${system.baseUrl}/device`);
        await enter(page, userCode);
        await heading(page, 'Connect this device?');
        expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true);
        await look(page, 'device-confirm-small-dark');
      },
      { viewport: { width: 360, height: 640 }, colorScheme: 'dark' },
    );
  });
});
