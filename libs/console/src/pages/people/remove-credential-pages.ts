import {
  UsersService,
  type DeleteCredentialRequest,
  type UserCredentials,
} from '@tessera/proto-gen/admin-users';
import { confirmedOfPerson, endsOf, type Sentence } from '../../confirmed.ts';
import { param, type ConsolePage, type Visit } from '../../console-visit.ts';

interface Removal {
  /** What the path names. */
  readonly credential: (visit: Visit) => DeleteCredentialRequest['credential'];
  /** By its name. */
  readonly named: (visit: Visit, credentials: UserCredentials) => Sentence;
  /** Whether it is the last second factor. */
  readonly isLastFactor: (credentials: UserCredentials) => boolean;
  readonly message: string;
  readonly label: string;
  readonly title: string;
}

/** A page that removes one of the things that a person signs in with, the last one too. */
function removal({ credential, named, isLastFactor, message, label, title }: Removal): ConsolePage {
  return confirmedOfPerson({
    message,
    label,
    ends: async (visit, { tenantId, userId, etag }) => {
      const request = { tenantId, userId, etag, credential: credential(visit) };
      const [{ impact, waysLeft }, credentials] = await Promise.all([
        visit
          .api(UsersService)
          .deleteCredential({ ...request, validateOnly: true, impact: true }, visit.call()),
        visit.api(UsersService).getCredentials({ tenantId, userId }, visit.call()),
      ]);
      return [
        named(visit, credentials),
        ...(credentials.recoveryCodes > 0 && isLastFactor(credentials)
          ? ([['The recovery codes stop working']] as const)
          : []),
        ...endsOf(impact),
        ...(waysLeft.length === 0 ? ([['Nothing lets this person in afterwards']] as const) : []),
      ];
    },
    act: async (visit, whose) => {
      const request = { ...whose, credential: credential(visit) };
      const { waysLeft } = await visit.api(UsersService).deleteCredential(request, visit.call());
      const message = 'Everything that was issued to this person before has ended.';
      return waysLeft.length > 0
        ? { title, message }
        : {
            title,
            message: 'Nothing lets this person in now. Send them a link.',
            next: { page: 'link', label: 'Send a link for a new password' },
          };
    },
  });
}

const passkeyOf = (visit: Visit) => param(visit, 'passkey');

export const removePasskeyPage = removal({
  credential: (visit) => ({ case: 'passkeyId', value: passkeyOf(visit) }),
  named: (visit, { passkeys }) => {
    const passkey = passkeys.find(({ passkeyId }) => passkeyId === passkeyOf(visit))?.name ?? '';
    return passkey === ''
      ? ['The passkey stops working']
      : ['The passkey {passkey} stops working', { passkey }];
  },
  isLastFactor: ({ passkeys, hasTotp }) => passkeys.length === 1 && !hasTotp,
  message: '{name} can no longer sign in with this passkey, and is signed out everywhere.',
  label: 'Remove this passkey',
  title: 'The passkey is removed',
});

export const removeAppPage = removal({
  credential: () => ({ case: 'totp', value: true }),
  named: () => ['The codes of the authenticator app stop working'],
  isLastFactor: ({ passkeys }) => passkeys.length === 0,
  message: '{name} can no longer confirm sign-ins with this app, and is signed out everywhere.',
  label: 'Remove this authenticator app',
  title: 'The authenticator app is removed',
});

export const removeLinkedPage = removal({
  credential: (visit) => ({ case: 'provider', value: param(visit, 'linked') }),
  named: (visit) => [
    'The account at {provider} no longer leads to this person',
    { provider: param(visit, 'linked') },
  ],
  isLastFactor: () => false,
  message: '{name} can no longer sign in with this provider, and is signed out everywhere.',
  label: 'Remove this sign-in',
  title: 'Sign-in with this provider removed',
});
