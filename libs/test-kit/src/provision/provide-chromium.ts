import { installWithApt, onPath, provideExecutable } from './executable.ts';

/** Chromium without the windows of a browser, which takes a third of the processor time. */
const shell = 'chromium-headless-shell';

const given = (): string | undefined => process.env['CHROMIUM_PATH'];

/** Path of a whole Chromium, with its windows: `CHROMIUM_PATH`, else one on the PATH, else installed with apt. */
export function provideWholeChromium(): string {
  return (
    given() ??
    provideExecutable({
      names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
      aptPackage: 'chromium',
      advice: 'The browser tests need a real Chromium: set CHROMIUM_PATH, or put chromium on the PATH.',
    })
  );
}

/** Path of a Chromium: `CHROMIUM_PATH`, else its headless shell on the PATH, else a whole one. */
export function provideChromium(): string {
  return given() ?? onPath(shell) ?? provideWholeChromium();
}

/** Installs the headless shell with apt where that can be done and nothing else was given. */
export function installHeadlessShell(): void {
  if (given() === undefined && onPath(shell) === undefined) installWithApt(shell);
}
