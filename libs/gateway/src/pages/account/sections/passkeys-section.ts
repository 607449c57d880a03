import { rootCall, timestampMs } from '@tessera/rpc';
import { browserContext } from '../../browser-context.ts';
import { removeFactor } from './removed-factor.ts';
import { resultOf, type AccountSection } from './account-section.ts';

/** The passkeys of a person: names, and when they were used. */
export const passkeysSection: AccountSection = {
  name: 'passkeys',

  show: ({ account, fieldsOf }) => ({
    passkeys: account.passkeys.map(({ passkeyId, name, createTime, lastUseTime, synced }, index) => ({
      number: index + 1,
      name,
      synced,
      created: createTime && timestampMs(createTime),
      used: lastUseTime && timestampMs(lastUseTime),
      rename: fieldsOf('rename_passkey', passkeyId),
      remove: fieldsOf('remove_passkey', passkeyId),
    })),
    add: fieldsOf('add_passkey'),
  }),

  confirmed: {
    remove_passkey: {
      title: 'Remove this passkey?',
      message:
        'You can no longer sign in with it, and you are signed out in all other browsers and applications.',
      label: 'Remove passkey',
      subject: ({ account }, target) => account.passkeys.find(({ passkeyId }) => passkeyId === target)?.name,
    },
  },

  changes: {
    add_passkey: async () => ({ visit: 'add_passkey' }),

    remove_passkey: async (context, { target }) =>
      target === '' ? 'unknown' : removeFactor(context, target, 'passkey_removed'),

    async rename_passkey({ app, request, gateway }, { target: passkeyId, form }) {
      const { problem } = await gateway.peers.account.renamePasskey(
        { browser: browserContext(app, request), passkeyId, name: form.get('name') ?? '' },
        rootCall(request.incoming.requestId),
      );
      return resultOf(problem, 'passkey_renamed');
    },
  },
};
