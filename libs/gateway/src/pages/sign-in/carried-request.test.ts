import { expect, it } from 'vitest';
import { showingPage } from './carried-request.ts';

it.each([
  ['/authorize?client_id=web&state=a%20b', '/authorize?client_id=web&state=a%20b&prompt=login'],
  ['/authorize?prompt=consent&state=s', '/authorize?state=s&prompt=consent+login'],
  ['/authorize?state=s&prompt=login', '/authorize?state=s&prompt=login'],
  ['/authorize?prompt=select_account+consent&x=1', '/authorize?x=1&prompt=select_account+consent+login'],
])('%s becomes %s, which shows a page even to somebody signed in (OIDC Core §3.1.2.1)', (path, shown) => {
  expect(showingPage(path)).toBe(shown);
});
