import type { List } from '@tessera/pages';
import { shortList } from '../../cells.ts';
import { param, pathOf, type ConsolePage } from '../../console-visit.ts';
import { pathOfProvider, providersOf } from './declared-providers.ts';

/** The providers with which people of an organization sign in. */
export const identityProvidersPage: ConsolePage = {
  load: async (visit) => {
    const { listed } = await providersOf(visit);
    const list: List = shortList(
      'Sign-in providers',
      ['Name', 'Issuer', 'Email domains', 'Owner'],
      listed.map(({ provider, isOurs }) => [
        { text: provider.displayName ?? provider.name, href: pathOfProvider(visit, provider.name) },
        { text: provider.issuer ?? '' },
        { text: (provider.domains ?? []).join(' ') },
        isOurs ? { sentence: 'This console' } : { sentence: 'A file' },
      ]),
      "There is no provider yet. Set one up, and people can sign in with their company's account.",
    );
    const make = { href: pathOf(param(visit, 'tenant'), 'new-provider'), label: 'Set up a provider' };
    return visit.send({ template: 'listed', data: { list, make } });
  },
};
