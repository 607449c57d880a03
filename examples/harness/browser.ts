import { chromium, type Browser, type Page } from 'playwright-core';
import { provideChromium } from '../../libs/test-kit/src/provision/provide-chromium.ts';

const ada = { identifier: 'ada', password: 'correct horse battery staple' };

/** A Chromium without a window. */
export async function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: provideChromium(), args: ['--no-sandbox', '--disable-gpu'] });
}

/**
 * Opens an address and does what a person does until the client answers: starts the sign-in, enters the password,
 * approves. Resolves with the text of the client's page and whether a password was asked for.
 */
export async function walk(page: Page, address: string, issuer: string) {
  await page.goto(address, { waitUntil: 'load' });
  let wasAsked = false;
  for (let step = 0; step < 6; step += 1) {
    if (await page.locator('input[name=password]').count()) {
      wasAsked = true;
      await page.fill('input[name=identifier]', ada.identifier);
      await page.fill('input[name=password]', ada.password);
      await submit(page, 'button[type=submit]');
    } else if (page.url().startsWith(issuer) && (await page.locator('button[value=approve]').count())) {
      await submit(page, 'button[value=approve]');
    } else if (await page.getByRole('button', { name: 'Continue', exact: true }).count()) {
      // The device page: the code is filled in already.
      await submit(page, 'button[type=submit]');
    } else if (!page.url().startsWith(issuer) && (await page.locator('form button').count())) {
      await submit(page, 'form button');
    } else break;
  }
  return { url: page.url(), text: await page.innerText('body'), wasAsked };
}

async function submit(page: Page, button: string): Promise<void> {
  await Promise.all([page.waitForNavigation({ waitUntil: 'load' }), page.locator(button).first().click()]);
}
