import { launchChromium } from '@tessera/test-kit';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoServer, type DemoServer } from '../../harness/browser/demo-server.ts';
import { withDevice as lendDevice, type Device } from '../../harness/browser/person-with-device.ts';

const password = 'a passphrase that eve chose';

/** What the page asks the browser for, in order. */
interface Asked {
  readonly event: 'asks' | 'ended';
  readonly mediation: string;
  readonly challenge: string;
}

/**
 * Keeps what a page asks for and how it ended. The browser answers; or, of one with a window, a list of passkeys from
 * which nobody chooses, which closes a moment after it was told to.
 */
const recorder = (hasWindow: boolean) => `(() => {
  const asked = [];
  Object.defineProperty(self, 'asked', { value: asked });
  const text = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes.buffer ?? bytes)));
  const { get } = CredentialsContainer.prototype;
  const list = (signal) =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => setTimeout(() => reject(signal.reason), 100)),
    );
  let isPending = false;
  CredentialsContainer.prototype.get = async function (options) {
    if (isPending) throw new DOMException('a request is pending', 'OperationError');
    const entry = { mediation: options.mediation ?? '', challenge: text(options.publicKey.challenge) };
    asked.push({ event: 'asks', ...entry });
    isPending = true;
    try {
      const isList = ${hasWindow} && options.mediation === 'conditional';
      return await (isList ? list(options.signal) : get.call(this, options));
    } finally {
      isPending = false;
      asked.push({ event: 'ended', ...entry });
    }
  };
})()`;

/** Of a browser that makes passkeys by itself, as the real ones do for a password that they keep. */
const makesAlone = `(() => {
  PublicKeyCredential.getClientCapabilities = async () => ({ conditionalCreate: true });
  const { create } = CredentialsContainer.prototype;
  CredentialsContainer.prototype.create = async function ({ mediation, ...options }) {
    if (mediation !== 'conditional') throw new DOMException('nobody is there', 'NotAllowedError');
    sessionStorage.setItem('verification', options.publicKey.authenticatorSelection.userVerification);
    return create.call(this, options);
  };
})()`;

describe('passkeys by autofill in a real Chromium', () => {
  let server: DemoServer;
  let browser: Browser;

  beforeAll(async () => {
    server = await startDemoServer({ TESSERA_AUTHORIZATION_REQUEST_TTL: '30s' });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  const withDevice = async (work: (device: Device) => Promise<void>) => lendDevice(browser, work);
  const heading = async (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const open = async (page: Page) => page.goto(`${server.baseUrl}/demo/sign-in`);
  const asked = async (page: Page): Promise<Asked[]> => page.evaluate('asked');
  const pending = async (page: Page, count: number): Promise<void> => {
    const asking = async () => (await asked(page)).filter(({ event }) => event === 'asks');
    await expect.poll(async () => (await asking()).length).toBe(count);
  };

  async function byPassword(page: Page, username: string): Promise<void> {
    await page.getByLabel(/user name/i).fill(username);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await button(page, 'Sign in').click();
  }

  /** Somebody new with a passkey on the device, signed out. */
  async function enrol({ page }: Device, username: string): Promise<void> {
    await server.call('Create', { user: { username, password } });
    await open(page);
    await byPassword(page, username);
    await heading(page, 'Sign in without a password next time?');
    await button(page, 'Create a passkey').click();
    await heading(page, 'Signed in');
  }

  it('end before the button asks, and are offered again with a fresh challenge after a cancelled try, which then works', async () => {
    await withDevice(async (device) => {
      const { page } = device;
      await enrol(device, 'ora');
      await page.context().clearCookies();
      await page.addInitScript(recorder(false));
      await device.refuse();
      await open(page);
      // The owner is not recognized: autofill fails, and is offered again.
      await expect.poll(async () => (await asked(page)).length).toBeGreaterThan(2);
      const challenges = (await asked(page)).filter(({ event }) => event === 'asks');
      expect(new Set(challenges.map(({ challenge }) => challenge)).size).toBe(challenges.length);
      await device.recognize();
      await heading(page, 'Signed in');
    });
    await withDevice(async ({ page }) => {
      await page.addInitScript(recorder(true));
      await open(page);
      await pending(page, 1);
      await page.getByLabel(/user name/i).fill('ora');
      await button(page, 'Use a passkey').click();
      await page.getByRole('alert').filter({ hasText: 'No passkey was used' }).waitFor();
      await pending(page, 3);
      const [first, ended, second, over, third] = await asked(page);
      expect([first, ended, second, over, third].map((each) => `${each?.event} ${each?.mediation}`)).toEqual([
        'asks conditional',
        'ended conditional',
        'asks ',
        'ended ',
        'asks conditional',
      ]);
      expect(third?.challenge).not.toBe(first?.challenge);
      expect(await page.getByLabel(/user name/i).inputValue(), 'what was typed stays').toBe('ora');
      await byPassword(page, 'ora');
      await heading(page, 'Signed in');
    });
  });

  it('are not asked for again once the password is sent, as that would begin another sign-in', async () => {
    await server.call('Create', { user: { username: 'ole', password } });
    await withDevice(async (device) => {
      const { page } = device;
      await page.addInitScript(recorder(false));
      await open(page);
      const answered = Promise.withResolvers<void>();
      await page.route('**/login', async (route) => {
        await answered.promise;
        await route.continue();
      });
      const sent = page.waitForRequest('**/login');
      const signingIn = byPassword(page, 'ole');
      await sent;
      const begun: string[] = [];
      page.on('request', (request) => void begun.push(new URL(request.url()).pathname));
      // Longer than a browser that answers by itself is left alone.
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      expect(begun).toEqual([]);
      answered.resolve();
      await signingIn;
      await heading(page, 'Sign in without a password next time?');
    });
  });

  it('bring no code to a page that stood open while its person signed in elsewhere (RFC 6749 §4.1)', async () => {
    await server.call('Create', { user: { username: 'olle', password } });
    await withDevice(async (device) => {
      const { page } = device;
      await device.noAutofill();
      await page.clock.install();
      await open(page);
      const another = await page.context().newPage();
      await open(another);
      await byPassword(another, 'olle');
      await heading(another, 'Signed in');
      await new Promise((resolve) => setTimeout(resolve, 31_000));
      const paths: string[] = [];
      page.on('request', (request) => void paths.push(new URL(request.url()).pathname));
      const renewed = page.waitForResponse((answer) => answer.url().includes('/authorize?'));
      await page.clock.fastForward('06:00');
      const location = (await (await renewed).allHeaders())['location'] ?? '';
      expect(location).toContain('/login?interaction=');
      await byPassword(page, 'olle');
      await heading(page, 'Sign in without a password next time?');
      expect(paths).not.toContain('/demo/callback');
    });
  }, 150_000);

  it('work on a page that stood open longer than its sign-in, and so does the password', async () => {
    const signsIn = async (way: 'passkey' | 'password') =>
      withDevice(async (device) => {
        const { page } = device;
        const username = `ove.${way}`;
        await enrol(device, username);
        await page.context().clearCookies();
        await device.noAutofill();
        await page.clock.install();
        await open(page);
        await heading(page, 'Sign in');
        const before = page.url();
        await new Promise((resolve) => setTimeout(resolve, 31_000));
        const renewed = page.waitForResponse((answer) => answer.url().includes('/authorize?'));
        await page.clock.fastForward('06:00');
        await (await renewed).finished();
        await expect
          .poll(async () => page.locator('#sign-in [name=interaction]').inputValue())
          .not.toBe(new URL(before).searchParams.get('interaction'));
        await (way === 'passkey' ? button(page, 'Use a passkey').click() : byPassword(page, username));
        await heading(page, 'Signed in');
      });
    await Promise.all([signsIn('passkey'), signsIn('password')]);
  }, 150_000);

  it('are made by the browser alone after a password, where it does so, and are used at the next sign-in', async () => {
    await server.call('Create', { user: { username: 'oda', password } });
    await withDevice(async (device) => {
      const { page } = device;
      await page.addInitScript(makesAlone);
      await open(page);
      await byPassword(page, 'oda');
      // No button was pressed.
      await heading(page, 'Signed in');
      expect(await device.credentials()).toBe(1);
      expect(await page.evaluate(`sessionStorage.getItem('verification')`)).toBe('preferred');
      await page.context().clearCookies();
      await open(page);
      await heading(page, 'Signed in');
    });
  });

  it('are forgotten by the browser once they are removed, and follow the name of their person', async () => {
    await withDevice(async (device) => {
      const { page } = device;
      await enrol(device, 'oli');
      await page.goto(`${server.baseUrl}/account/profile?tenant=demo`);
      await page.getByText('Change your name').click();
      await page.getByLabel('Name', { exact: true }).fill('Olivia Lee');
      await button(page, 'Save').click();
      await page.getByText('Your name is changed.').waitFor();
      await expect.poll(async () => device.names()).toEqual(['Olivia Lee']);
      await page.goto(`${server.baseUrl}/account/sign-in?tenant=demo`);
      expect(await device.credentials(), 'those that count stay').toBe(1);
      await button(page, 'Remove passkey').click();
      await heading(page, 'Remove this passkey?');
      await button(page, 'Remove passkey').click();
      await page.getByText('The passkey is removed.').waitFor();
      await expect.poll(async () => device.credentials()).toBe(0);
    });
  });
});
