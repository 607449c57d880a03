import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServerProcess } from '@tessera/test-client';
import { launchChromium } from '@tessera/test-kit';
import { copyEmbeddedDatabase, eventually, freePort } from '@tessera/test-kit/provision';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible } from './accessible.ts';

const screenshots = fileURLToPath(new URL('../../../../../test-output/screenshots/', import.meta.url));
const password = 'a passphrase that eve chose';

/** A page with a platform authenticator, as on a phone, whose owner answers whatever it asks. */
interface Device {
  readonly page: Page;
  /** From the next page on, passkeys are used only when they are asked for. */
  noAutofill(): Promise<void>;
  credentials(): Promise<number>;
  /** The device is lost: the passkeys are gone. */
  lose(): Promise<void>;
}

/** People who sign in with passkeys, beside `npm start`. */
describe('passkeys in a real Chromium', () => {
  const server = new ServerProcess('standalone', 'apps/standalone/src/main.ts');
  let directory: string;
  let baseUrl: string;
  let browser: Browser;

  beforeAll(async () => {
    await mkdir(screenshots, { recursive: true });
    directory = await mkdtemp(join(tmpdir(), 'tessera-passkeys-'));
    await copyEmbeddedDatabase(join(directory, 'database'));
    const port = await freePort();
    baseUrl = `http://localhost:${port}`;
    server.start({ TESSERA_DATA_DIR: directory, TESSERA_HTTP_PORT: String(port) });
    await eventually('it serves', async () => (await fetch(`${baseUrl}/readyz`)).ok);
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Calls a service of administration as the command line does. */
  async function call(method: string, request: object, service = 'UsersService') {
    const announced = await readFile(join(directory, 'administration.json'), 'utf8');
    const { target, token } = JSON.parse(announced) as { target: string; token: string };
    const answer = await fetch(`http://${target}/tessera.admin.v1.${service}/${method}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'x-tessera-caller': 'operator',
      },
      body: JSON.stringify({ tenantId: 'demo', ...request }),
    });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Record<string, string>;
  }

  async function withDevice(work: (device: Device) => Promise<void>): Promise<void> {
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/.test(message.text())) complaints.push(message.text());
      });
      const cdp: CDPSession = await context.newCDPSession(page);
      await cdp.send('WebAuthn.enable');
      const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      });
      await work({
        page,
        noAutofill: async () =>
          void (await page.addInitScript(
            'PublicKeyCredential.isConditionalMediationAvailable = async () => false',
          )),
        credentials: async () =>
          (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials.length,
        lose: async () => void (await cdp.send('WebAuthn.clearCredentials', { authenticatorId })),
      });
      expect(complaints).toEqual([]);
    } finally {
      await context.close();
    }
  }

  const heading = async (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
  const look = async (page: Page, name: string) => {
    await expectAccessible(page);
    await page.screenshot({ path: `${screenshots}passkeys-${name}.png`, fullPage: true });
  };
  const open = async (page: Page) => page.goto(`${baseUrl}/demo/sign-in`);
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  async function byPassword(page: Page, username: string): Promise<void> {
    await page.getByLabel(/user name/i).fill(username);
    await page.getByLabel('Password').fill(password);
    await button(page, 'Sign in').click();
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
    await call('Create', { user: { username: 'mia', password } });
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
      await heading(page, offered);
      await button(page, 'Not now').click();
      await heading(page, 'Signed in');
      await page.context().clearCookies();
      await open(page);
      await byPassword(page, 'mia');
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
      await page.goto(`${baseUrl}/approvals?tenant=demo-two`);
      await heading(page, 'Sign in');
      await button(page, 'Use a passkey').click();
      await page.getByRole('alert').filter({ hasText: 'This passkey cannot be used here' }).waitFor();
      await look(page, 'other-tenant');
      await page.goto(`${baseUrl}/approvals?tenant=demo`);
      await heading(page, 'Sign in');
      await look(page, 'approvals');
      await button(page, 'Use a passkey').click();
      await page.getByText('Signed in as').waitFor();
    });
  });

  it('a tenant asks for a second factor: a passkey is one, and its page says what to do', async () => {
    await call('Create', { user: { username: 'noa', password } });
    const policy = async (authenticationPolicy: string) =>
      call('Update', { tenant: { authenticationPolicy }, takeOver: true }, 'TenantsService');
    await withDevice(async (device) => {
      const { page } = device;
      await enrol(device, 'noa');
      await policy('second-factor');
      try {
        await device.noAutofill();
        await page.context().clearCookies();
        await open(page);
        await byPassword(page, 'noa');
        await heading(page, 'Use your passkey');
        await look(page, 'second-factor');
        await button(page, 'Use your passkey').click();
        await heading(page, 'Signed in');
      } finally {
        await policy('any');
      }
    });
  });
});
