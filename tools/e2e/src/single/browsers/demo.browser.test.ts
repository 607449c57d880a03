import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import { PatientProcess } from '../../harness/patient-process.ts';
import { savePicture } from '../../harness/browser/picture.ts';

/** What `npm start` alone gives: embedded stores, the demo tenant and its two clients. */
describe('the demo in a real Chromium', () => {
  const server = new PatientProcess('standalone', 'apps/standalone/src/main.ts');
  let directory: string;
  let baseUrl: string;
  let browser: Browser;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tessera-demo-'));
    const port = await freePort();
    baseUrl = `http://localhost:${port}`;
    server.start({
      TESSERA_DATA_DIR: directory,
      TESSERA_HTTP_PORT: String(port),
      TESSERA_DEVICE_POLL_INTERVAL: '1s',
    });
    await eventually('the demo serves', async () => (await fetch(`${baseUrl}/readyz`)).ok);
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function signIn(page: Page): Promise<void> {
    await page.getByLabel(/user name/i).fill('ada');
    await page.getByLabel('Password').fill('correct horse battery staple');
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  it('signs in, shows what the client received, signs in again without a password, and signs out', async () => {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on(
      'console',
      (message) =>
        void (
          ['error', 'warning'].includes(message.type()) &&
          complaints.push(`${message.text()} ${message.location().url}`)
        ),
    );
    await page.goto(`${baseUrl}/`);
    await page.getByRole('link', { name: 'Sign in with Tessera' }).click();
    await signIn(page);
    await page.getByRole('heading', { name: 'Signed in' }).waitFor();
    expect(await page.content()).toContain('The nonce of the ID token matches');
    await savePicture(page, 'demo-result');
    // The page behind each link, as what is there already has the same heading.
    const first = page.url();
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await page.waitForURL(({ href, pathname }) => pathname === '/demo/callback' && href !== first);
    await page.getByRole('heading', { name: 'Signed in' }).waitFor();
    await page.getByRole('link', { name: 'Sign out' }).click();
    await page.waitForURL(({ pathname }) => pathname !== '/demo/callback');
    await page.goto(`${baseUrl}/demo/sign-in`);
    await page.getByLabel('Password').waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });

  it.each(['approve', 'deny'])(
    'shows a device whose QR code leads a phone to the confirmation: %s (RFC 8628 section 3.3.1)',
    async (decision) => {
      const [device, phone] = [await browser.newContext(), await browser.newContext()];
      const page = await device.newPage();
      await page.goto(`${baseUrl}/demo/`);
      await page.getByRole('link', { name: 'Sign in on a device' }).click();
      const image = page.getByRole('img', { name: /QR code/ });
      await image.waitFor();
      await savePicture(page, 'demo-device');
      const leadsTo = (await page.locator('a:has(img)').getAttribute('href')) ?? '';
      expect(leadsTo).toContain('/device?user_code=');

      const held = await phone.newPage();
      await held.goto(leadsTo);
      await held.getByRole('button', { name: /continue/i }).click();
      await signIn(held);
      await held.locator(`button[value=${decision}]`).click();
      const outcome = decision === 'approve' ? 'Signed in' : 'No tokens';
      await page.getByRole('heading', { name: outcome }).waitFor();
      await Promise.all([device.close(), phone.close()]);
    },
  );
});
