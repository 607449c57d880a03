import { expect, it } from 'vitest';
import { browserName } from './browser-name.ts';

it.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', 'Firefox', 'Linux'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1',
    'Safari',
    'iOS',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 Edg/120.0',
    'Microsoft Edge',
    'Windows',
  ],
])('names the browser of %s', (userAgent, browser, system) => {
  expect(browserName(userAgent)).toEqual({ browser, system });
});

it('names none that it does not know, whatever is sent', () => {
  const nested = '('.repeat(256);
  for (const userAgent of ['', 'curl/8.0', '<script>', nested, '\0', 'x/'.repeat(128)])
    expect(browserName(userAgent)).toBeUndefined();
});
