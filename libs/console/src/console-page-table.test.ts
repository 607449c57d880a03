import { expect, it } from 'vitest';
import { pageTable } from './console-page-table.ts';

/** What gives nobody a right and ends nothing: words, new names, a try of a provider, and looks. */
const withoutFreshSignIn = [
  '/o/:tenant/applications/:application/words',
  '/o/:tenant/new-api',
  '/o/:tenant/apis/:api/edit',
  '/o/:tenant/apis/:api/new-scope',
  '/o/:tenant/apis/:api/scopes/:scope',
  '/o/:tenant/new-role',
  '/o/:tenant/providers/:provider',
  '/o/:tenant/settings/looks',
];

it('asks people to sign in anew before whatever a page of the console does, but for what is harmless', () => {
  const acting = pageTable.filter(({ who, page }) => who !== 'anyone' && page.act !== undefined);
  expect(acting.length).toBeGreaterThan(30);
  expect(acting.filter(({ needsFresh }) => needsFresh !== true).map(({ path }) => path)).toEqual(
    withoutFreshSignIn,
  );
});
