import Bowser from 'bowser';

/** What a browser and its system are called; undefined if the `User-Agent` names none that is known. */
export function browserName(userAgent: string): { browser: string; system: string | undefined } | undefined {
  if (userAgent === '') return undefined;
  const { browser, os } = Bowser.parse(userAgent);
  return browser.name === undefined || browser.name === ''
    ? undefined
    : { browser: browser.name, system: os.name };
}
