import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { chromiumInstalled } from './provide-chromium.ts';

it('waits for a Chromium as long as it is being installed', async () => {
  const former = process.env['TESSERA_TEST_CHROMIUM_UNDER_WAY'];
  onTestFinished(() => {
    if (former === undefined) delete process.env['TESSERA_TEST_CHROMIUM_UNDER_WAY'];
    else process.env['TESSERA_TEST_CHROMIUM_UNDER_WAY'] = former;
  });
  const folder = mkdtempSync(join(tmpdir(), 'tessera-chromium-'));
  process.env['TESSERA_TEST_CHROMIUM_UNDER_WAY'] = folder;
  let isInstalled = false;
  const installed = chromiumInstalled().then(() => (isInstalled = true));
  await sleep(300);
  expect(isInstalled).toBe(false);
  rmdirSync(folder);
  await installed;
});
