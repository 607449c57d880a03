import { longestShown } from '@tessera/pages';
import { offeredProviders } from './provider-page.ts';
import type { StepPage } from './step-page.ts';

/**
 * User name, email address or phone number, and password. Where the domain of an address can lead to a provider, the
 * page asks for the first alone, and for the password once it leads to none.
 */
export const passwordPage: StepPage = {
  name: 'password',
  fields: ['password', 'identifier', 'passkeys'],
  title: ({ person }) => (person === undefined ? 'Sign in' : 'Confirm that it is you'),
  script: true,
  data({ shown, form, person }) {
    const typed = form?.get('identifier')?.slice(0, longestShown) ?? '';
    const username = person?.session.username ?? '';
    const hasDomains = offeredProviders(shown)?.hasDomains === true;
    const isKnown = typed.trim() !== '' || username !== '';
    return {
      identifier: (typed || username || (shown['identifier'] ?? '')).slice(0, longestShown),
      asksWho: hasDomains && !isKnown,
      isNamed: hasDomains && isKnown && person === undefined,
      recovers: shown['recovers'] === 'yes',
      // Whoever is signed in has an account.
      registers: shown['registers'] === 'yes' && person === undefined,
    };
  },
  problems: {
    incomplete: { status: 400, message: 'Enter both your user name and your password.' },
    // Whatever the reason. A person whose attempts are used up gets it too, also for the right password: any other
    // answer would reveal which user names and addresses belong to somebody.
    wrong_credentials: { status: 401, message: 'Wrong user name or password.' },
  },
};
