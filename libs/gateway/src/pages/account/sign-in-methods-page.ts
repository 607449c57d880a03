import { otherPaths } from '@tessera/oauth';
import { acceptedPasskeysSection } from './accepted-passkeys-section.ts';
import type { AccountContent, AccountSection } from './account-section.ts';
import { factorsSection } from './factors-section.ts';
import { passkeysSection } from './passkeys-section.ts';
import { providersSection } from './providers-section.ts';

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
