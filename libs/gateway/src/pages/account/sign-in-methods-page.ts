import { otherPaths } from '@tessera/oauth';
import { acceptedPasskeysSection } from './sections/accepted-passkeys-section.ts';
import type { AccountContent, AccountSection } from './sections/account-section.ts';
import { factorsSection } from './sections/factors-section.ts';
import { passkeysSection } from './sections/passkeys-section.ts';
import { providersSection } from './sections/providers-section.ts';

const password: AccountSection = {
  name: 'password',
  show: () => ({ path: otherPaths.password }),
  changes: {},
};

/** With what a person signs in. */
export const signInMethods: AccountContent = {
  name: 'sign-in',
  template: 'account-sign-in',
  sections: [password, passkeysSection, factorsSection, providersSection, acceptedPasskeysSection],
};
