import { browserName } from '@tessera/languages';
import { timestampMs } from '@tessera/rpc';
import { findApplication } from '../described-application.ts';
import type { AccountContent, AccountSection } from './sections/account-section.ts';

/** What the page says of an event of the audit trail, and of its factor if it has one. */
const sentences: Readonly<Record<string, string>> = {
  'auth.login.succeeded': 'You signed in.',
  'auth.login.failed': 'Somebody entered a wrong password or code.',
  'auth.credential.changed': 'The password was changed.',
  'auth.factor.added totp': 'An authenticator app was set up.',
  'auth.factor.added passkey': 'A passkey was added.',
  'auth.factor.removed totp': 'The authenticator app was removed.',
  'auth.factor.removed passkey': 'A passkey was removed.',
  'auth.recovery_codes.replaced': 'New recovery codes were made.',
  'auth.recovery_code.used': 'A recovery code was used.',
  'auth.provider.linked': 'A provider was linked to the account.',
  'auth.provider.unlinked': 'A provider was removed from the account.',
  'consent.granted': 'You allowed access to {application}.',
  'consent.revoked': 'You removed the access of {application}.',
};

const events: AccountSection = {
  name: 'activity',

  async show({ context, account }) {
    const found = account.activities.map(async ({ time, event, factor, clientId, ipAddress, userAgent }) => {
      const sentence = sentences[factor === '' ? event : `${event} ${factor}`];
      if (sentence === undefined || time === undefined) return [];
      const { application } = clientId === '' ? {} : await findApplication(context, clientId);
      return [
        {
          sentence,
          application: application?.name ?? clientId,
          time: timestampMs(time),
          ipAddress,
          ...browserName(userAgent),
        },
      ];
    });
    return { events: (await Promise.all(found)).flat() };
  },

  changes: {},
};

/** What happened lately to an account. */
export const activity: AccountContent = {
  name: 'activity',
  template: 'account-activity',
  sections: [events],
};
