import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { installWithApt, onPath, provideExecutable } from './executable.ts';

/** Chromium without the windows of a browser, which takes a third of the processor time. */
const shell = 'chromium-headless-shell';

const wholeNames = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Names a folder that exists while Chromium is being installed. */
const underWay = 'TESSERA_TEST_CHROMIUM_UNDER_WAY';

const given = (): string | undefined => process.env['CHROMIUM_PATH'];

/** Path of a whole Chromium, with its windows: `CHROMIUM_PATH`, else one on the PATH, else installed with apt. */
export function provideWholeChromium(): string {
  return (
    given() ??
    provideExecutable({
      names: wholeNames,
      aptPackage: 'chromium',
      advice: 'The browser tests need a real Chromium: set CHROMIUM_PATH, or put chromium on the PATH.',
    })
  );
}

/** Path of a Chromium: `CHROMIUM_PATH`, else its headless shell on the PATH, else a whole one. */
export function provideChromium(): string {
  return given() ?? onPath(shell) ?? provideWholeChromium();
}

/** Installs both with apt where that can be done and nothing else was given. */
export function installChromium(): void {
  if (isComplete()) return;
  // Not every distribution has both.
  if (!installWithApt(shell, 'chromium')) installWithApt('chromium');
}

const isComplete = (): boolean =>
  given() !== undefined || (onPath(shell) !== undefined && onPath(...wholeNames) !== undefined);

/**
 * As `installChromium`, beside what else there is to do: processes that start from now on wait for it with
 * `chromiumInstalled`. Resolves when it has ended, well or not.
 */
export async function installChromiumMeanwhile(): Promise<void> {
  if (isComplete()) return;
  const folder = mkdtempSync(join(tmpdir(), 'tessera-chromium-'));
  process.env[underWay] = folder;
  const program = `import { installChromium } from ${JSON.stringify(import.meta.url)}; installChromium();`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'inherit' });
  await new Promise((resolve) => child.once('error', resolve).once('exit', resolve));
  rmSync(folder, { recursive: true });
}

/** Resolves once no installation that `installChromiumMeanwhile` began is under way. */
export async function chromiumInstalled(): Promise<void> {
  const folder = process.env[underWay];
  while (folder !== undefined && existsSync(folder)) await sleep(100);
}
