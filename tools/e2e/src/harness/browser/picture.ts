import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { eventually } from '@tessera/test-kit/provision';

const pictures = fileURLToPath(new URL('../../../../../test-output/screenshots/', import.meta.url));

/**
 * Saves what `page` shows, whole, as `test-output/screenshots/<name>.png`, for people to look at. Chromium takes no
 * picture while it changes to another page: then it is asked again.
 */
export async function savePicture(page: Pick<Page, 'screenshot'>, name: string): Promise<void> {
  await eventually(`there is a picture of ${name}`, async () => {
    await page.screenshot({ path: `${pictures}${name}.png`, fullPage: true });
    return true;
  });
}
