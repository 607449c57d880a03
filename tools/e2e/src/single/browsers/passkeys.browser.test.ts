import { launchChromium } from '@tessera/test-kit';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoServer, type DemoServer } from '../../harness/browser/demo-server.ts';
import { withDevice as lendDevice, type Device } from '../../harness/browser/person-with-device.ts';
import { savePicture } from '../../harness/browser/picture.ts';
import { expectAccessible } from './accessible.ts';

const password = 'a passphrase that eve chose';

/** People who sign in with passkeys, beside `npm start`. */
describe('passkeys in a real Chromium', () => {
  let server: DemoServer;
  let browser: Browser;

  beforeAll(async () => {
    server = await startDemoServer({ TESSERA_DEVICE_POLL_INTERVAL: '1s' });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  const call: DemoServer['call'] = async (...request) => server.call(...request);
  const withDevice = async (work: (device: Device) => Promise<void>) => lendDevice(browser, work);

  const heading = async (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  const look = async (page: Page, name: string) => {
    await expectAccessible(page);
    await savePicture(page, `passkeys-${name}`);
  };
  const open = async (page: Page) => page.goto(`${server.baseUrl}/demo/sign-in`);
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  async function byPassword(page: Page, username: string): Promise<void> {
    await page.getByLabel(/user name/i).fill(username);
    await page.getByLabel('Password').fill(password);
    await button(page, 'Sign in').click();
  }

  /** What the tenant asks of its people, during `work`. */
  async function withPolicy(authenticationPolicy: string, work: () => Promise<void>): Promise<void> {
    const set = async (policy: string) =>
      call('Update', { tenant: { authenticationPolicy: policy }, takeOver: true }, 'TenantsService');
    await set(authenticationPolicy);
    try {
      await work();
    } finally {
      await set('any');
    }
  }

  const offered = 'Sign in without a password next time?';

  /** Signs in with a password, and creates a passkey. */
  async function enrol({ page }: Device, username: string): Promise<void> {
    await open(page);
    await byPassword(page, username);
    await heading(page, offered);
    await button(page, 'Create a passkey').click();
    await heading(page, 'Signed in');
  }

  it('a person creates one after the password, and signs in by autofill, by the button, and without it when it is lost', async () => {
    for (const username of ['mia', 'moa']) await call('Create', { user: { username, password } });
    await withDevice(async (device) => {
      const { page } = device;
      await open(page);
      await button(page, 'Use a passkey').waitFor();
      await look(page, 'first-page');
      await button(page, 'Use a passkey').click();
      await page.getByRole('alert').filter({ hasText: 'No passkey was used' }).waitFor();
      await look(page, 'none-used');
      await byPassword(page, 'mia');
      await heading(page, offered);
      await look(page, 'offer');
      await button(page, 'Create a passkey').click();
      await heading(page, 'Signed in');
      expect(await page.getByText('"swk"').or(page.getByText('"hwk"')).count()).toBeGreaterThan(0);
      expect(await page.getByText('"mfa"').count()).toBeGreaterThan(0);
      expect(await device.credentials()).toBe(1);

      // Autofill: the browser answers as soon as the page asks.
      await page.context().clearCookies();
      await open(page);
      await heading(page, 'Signed in');

      await device.noAutofill();
      await page.context().clearCookies();
      await open(page);
      await heading(page, 'Sign in');
      await button(page, 'Use a passkey').click();
      await heading(page, 'Signed in');

      await device.lose();
      await page.context().clearCookies();
      await open(page);
      await byPassword(page, 'mia');
      // Another one is not offered: who knows the password alone would have it stand for the first.
      await heading(page, 'Signed in');

      await page.context().clearCookies();
      await open(page);
      await byPassword(page, 'moa');
      await heading(page, offered);
      await button(page, 'Not now').click();
      await heading(page, 'Signed in');
      await page.context().clearCookies();
      await open(page);
      await byPassword(page, 'moa');
      // Put off: nothing is offered for a while.
      await heading(page, 'Signed in');
    });
  });

  it('is one tenant’s: at another of the same host it signs nobody in, at its own also to approve requests', async () => {
    await call('Create', { user: { username: 'kim', password } });
    await withDevice(async (device) => {
      const { page } = device;
      await enrol(device, 'kim');
      await device.noAutofill();
      await page.context().clearCookies();
      await page.goto(`${server.baseUrl}/approvals?tenant=demo-two`);
      await heading(page, 'Sign in');
      await button(page, 'Use a passkey').click();
      await page.getByRole('alert').filter({ hasText: "This passkey can't be used here" }).waitFor();
      await look(page, 'other-tenant');
      await page.goto(`${server.baseUrl}/approvals?tenant=demo`);
      await heading(page, 'Sign in');
      await look(page, 'approvals');
      await button(page, 'Use a passkey').click();
      await page.getByText('Signed in as').waitFor();
    });
  });

  it('is all that an invited person makes: no password, and the account and applications are open to them', async () => {
    const { userId } = await call('Create', { user: { username: 'ivy', name: 'Ivy Lee' } });
    const { uri = '' } = await call('CreatePasswordLink', { userId, purpose: 'invitation' });
    const link = new URL(uri, server.baseUrl).href;
    await withDevice(async (device) => {
      const { page } = device;
      await device.noAutofill();
      await page.goto(link);
      await heading(page, 'Welcome');
      await button(page, 'Create a passkey instead').waitFor();
      await look(page, 'invitation');
      await button(page, 'Create a passkey instead').click();
      await heading(page, 'Your passkey is ready');
      await page.goto(link);
      await heading(page, 'This link is not valid');

      await page.goto(`${server.baseUrl}/account?tenant=demo`);
      await button(page, 'Use a passkey').click();
      await heading(page, 'Your account');
      await page.getByRole('navigation').getByRole('link', { name: 'Sign-in methods' }).click();
      const passkeys = page.getByRole('region', { name: 'Passkeys' });
      await passkeys.getByRole('button', { name: 'Remove passkey' }).click();
      await heading(page, 'Remove this passkey?');
      await button(page, 'Remove passkey').click();
      await page
        .getByRole('status')
        .filter({ hasText: 'You could not sign in without this passkey.' })
        .waitFor();
      await open(page);
      await heading(page, 'Signed in');
      expect(await page.getByText('Ivy Lee').count()).toBeGreaterThan(0);
    });
  });

  it('a tenant asks for a second factor: a passkey is one, and its page says what to do', async () => {
    await call('Create', { user: { username: 'noa', password } });
    await withDevice(async (device) => {
      const { page } = device;
      await enrol(device, 'noa');
      await withPolicy('second-factor', async () => {
        await device.noAutofill();
        await page.context().clearCookies();
        await open(page);
        await byPassword(page, 'noa');
        await heading(page, 'Use your passkey');
        await look(page, 'second-factor');
        await button(page, 'Use your passkey').click();
        await heading(page, 'Signed in');
      });
    });
  });

  it('is chosen by its owner from the list of the browser on the first page, without a typed name', async () => {
    for (const [username, name] of [
      ['una', 'Una First'],
      ['ute', 'Ute Second'],
    ])
      await call('Create', { user: { username, name, password } });
    // The list is no part of the page.
    const whole = await launchChromium([], { isWhole: true });
    await lendDevice(whole, async (device) => {
      const { page } = device;
      await device.noAutofill();
      for (const username of ['una', 'ute']) {
        await page.context().clearCookies();
        await enrol(device, username);
      }
      expect(await device.credentials()).toBe(2);
      await device.listPasskeys();
      await page.context().clearCookies();
      await open(page);
      await heading(page, 'Sign in');
      const field = page.getByLabel(/user name/i);
      expect(await field.inputValue()).toBe('');
      await device.chooseListed(field, 2);
      await heading(page, 'Signed in');
      expect(await page.getByText('Ute Second').count()).toBeGreaterThan(0);
    });
  });

  it('approves a CIBA request from its start to the tokens, where a password is not enough', async () => {
    await call('Create', { user: { username: 'ida', password } });
    const client = { client_id: 'demo-ciba', client_secret: 'demo-secret-not-for-production-0002' };
    const post = async (path: string, form: Record<string, string>) => {
      const body = new URLSearchParams({ ...client, ...form });
      const answer = await fetch(`${server.baseUrl}${path}`, { method: 'POST', body });
      return (await answer.json()) as Record<string, string>;
    };
    await withDevice(async (device) => {
      const { page } = device;
      await enrol(device, 'ida');
      await device.noAutofill();
      await page.context().clearCookies();
      await withPolicy('phishing-resistant', async () => {
        const { auth_req_id = '' } = await post('/backchannel_authentication', {
          scope: 'openid orders.read',
          login_hint: 'ida',
          binding_message: 'Order 4711',
        });
        const poll = async () =>
          post('/token', { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id });
        expect((await poll())['error']).toBe('authorization_pending');
        await page.goto(`${server.baseUrl}/approvals?tenant=demo`);
        await byPassword(page, 'ida');
        await heading(page, 'Use your passkey');
        expect(await page.getByText('Order 4711').count()).toBe(0);
        await button(page, 'Use your passkey').click();
        await page.getByText('Order 4711').waitFor();
        await button(page, 'Approve').click();
        await page.getByText('You approved the request.').waitFor();
        await expect.poll(async () => (await poll())['id_token'] ?? '').toMatch(/^ey/);
      });
    });
  });
});
