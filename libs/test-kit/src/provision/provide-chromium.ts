import { provideExecutable } from './executable.ts';

/** Path of a Chromium: `CHROMIUM_PATH`, else one on the PATH, else installed with apt. */
export function provideChromium(): string {
  return (
    process.env['CHROMIUM_PATH'] ??
    provideExecutable({
      names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
      aptPackage: 'chromium',
      advice: 'The browser tests need a real Chromium: set CHROMIUM_PATH, or put chromium on the PATH.',
    })
  );
}
