import type { AccountSection } from './account-section.ts';
import { sentencesInAccount } from '../../sign-in/steps/step-pages.ts';
import { removeFactor } from './removed-factor.ts';

/** The authenticator app of a person, the recovery codes, and ways to sign in that need no setting up. */
export const factorsSection: AccountSection = {
  name: 'factors',

  show: ({ account, account: { hasTotp, recoveryCodes, passkeys }, fieldsOf }) => ({
    addTotp: hasTotp ? undefined : fieldsOf('add_totp'),
    removeTotp: hasTotp ? fieldsOf('remove_totp') : undefined,
    recoveryCodes,
    others: sentencesInAccount(account),
    newCodes: hasTotp || passkeys.length > 0 ? fieldsOf('new_recovery_codes') : undefined,
  }),

  confirmed: {
    remove_totp: {
      title: 'Remove the authenticator app?',
      message:
        'Its codes are no longer accepted, and you are signed out in all other browsers and applications.',
      label: 'Remove authenticator app',
    },
  },

  changes: {
    add_totp: async () => ({ visit: 'add_totp' }),
    remove_totp: async (context) => removeFactor(context, '', 'totp_removed'),
    new_recovery_codes: async () => ({ visit: 'new_recovery_codes' }),
  },
};
