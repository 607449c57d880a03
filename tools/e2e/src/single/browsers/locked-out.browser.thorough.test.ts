import { launchChromium } from '@tessera/test-kit';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoServer, type DemoServer } from '../../harness/browser/demo-server.ts';
import { savePicture } from '../../harness/browser/picture.ts';
import { expectAccessible } from './accessible.ts';

const password = 'a passphrase that frank chose';

/** Somebody whose account others guess at, beside `npm start`. */
describe('a person who is locked out, in a real Chromium', () => {
  let server: DemoServer;
  let browser: Browser;

  beforeAll(async () => {
    server = await startDemoServer();
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  async function tryTo(page: Page, username: string, secret: string): Promise<void> {
    await page.getByLabel(/user name/i).fill(username);
    await page.getByLabel('Password').fill(secret);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForLoadState();
  }

  it('keeps the form, reads for how long, and is let in again by unlock; an unknown name looks the same', async () => {
    const { userId = '' } = await server.call('Create', { user: { username: 'frank', password } });
    const page = await browser.newPage();
    await page.goto(`${server.baseUrl}/account?tenant=demo`);
    const problem = page.getByRole('alert');
    const seen: string[] = [];
    for (const username of ['nobody', 'frank']) {
      for (let i = 0; i < 11; i += 1) await tryTo(page, username, 'wrong');
      expect(await problem.textContent()).toMatch(/^Too many attempts\. Try again in \d+ minutes\.$/);
      expect(await page.getByLabel(/user name/i).inputValue()).toBe(username);
      expect(await page.getByLabel('Password').inputValue()).toBe('');
      seen.push((await page.locator('main').innerText()).replace(/\d+/, ''));
    }
    expect(seen[1]).toBe(seen[0]);
    await expectAccessible(page);
    await savePicture(page, 'locked-out');
    const read = async () => server.call('Get', { userId });
    expect(Date.parse((await read())['lockExpireTime'] ?? '')).toBeGreaterThan(Date.now());
    await server.call('Unlock', { userId });
    expect(await read()).not.toHaveProperty('lockExpireTime');
    await tryTo(page, 'frank', password);
    await page
      .getByRole('button', { name: 'Not now', exact: true })
      .or(page.getByRole('heading', { name: 'Your account' }))
      .first()
      .waitFor();
    await page.close();
  });
});
