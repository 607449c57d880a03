import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { atEndOfFile } from '../cleanup.ts';
import { chromiumInstalled, provideChromium, provideWholeChromium } from '../provision/provide-chromium.ts';

const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

/**
 * A real Chromium without a window, closed when the test file has ended. Name the test file `*.browser.test.ts`:
 * then Chromium is looked for, and installed where it can be, before the first test runs.
 * @param args more switches of its command line
 * @param isWhole whether the test sees what is no page, such as the list of passkeys
 */
export async function launchChromium(
  args: readonly string[] = [],
  { isWhole = false }: { readonly isWhole?: boolean } = {},
): Promise<Browser> {
  await chromiumInstalled();
  const browser = await chromium.launch({
    executablePath: isWhole ? provideWholeChromium() : provideChromium(),
    args: [...quiet, ...args],
    timeout: 80_000,
  });
  atEndOfFile(() => browser.close());
  return browser;
}
