import { expect, test } from 'vitest';
import { launchChromium } from './chromium.ts';

// The first start in a while reads some hundred megabytes from the disk.
const startTimeout = 90_000;

test('a real Chromium shows a page', { timeout: startTimeout }, async () => {
  const browser = await launchChromium();
  const page = await browser.newPage();
  await page.setContent('<title>Tessera</title>');
  expect(await page.title()).toBe('Tessera');
});
