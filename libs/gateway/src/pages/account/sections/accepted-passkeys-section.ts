import type { AccountSection } from './account-section.ts';

/** What a script tells the browser of the person's passkeys (WebAuthn L3 §5.1.10), on pages where these change. */
export const acceptedPasskeysSection: AccountSection = {
  name: 'acceptedPasskeys',

  show: ({ account }) =>
    account.acceptedPasskeys.map(({ rpId, userHandle, credentialIds, name, displayName }) => ({
      rpId,
      userHandle,
      credentialIds,
      name,
      displayName,
    })),

  changes: {},
};
