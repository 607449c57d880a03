import { expect, test } from 'vitest';
import { launchChromium } from './chromium.ts';

test('a real Chromium shows a page', async () => {
  const browser = await launchChromium();
  const page = await browser.newPage();
  await page.setContent('<title>Tessera</title>');
  expect(await page.title()).toBe('Tessera');
});
