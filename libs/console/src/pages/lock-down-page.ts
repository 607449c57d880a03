import { UsersService } from '@tessera/proto-gen/admin-users';
import { confirmedOfPerson, endsOf } from '../confirmed.ts';

/** Shuts everybody out of an account, as after a theft. */
export const lockDownPage = confirmedOfPerson({
  message:
    'The password and passkeys of {name} are removed, and everybody is signed out of the account. A new link lets them in again.',
  label: 'Lock down',
  ends: async ({ api, call }, whose) => {
    const { impact } = await api(UsersService).lockDown(
      { ...whose, validateOnly: true, impact: true },
      call(),
    );
    return endsOf(impact);
  },
  act: async ({ api, call }, whose) => {
    const { impact, removed } = await api(UsersService).lockDown({ ...whose, impact: true }, call());
    return {
      title: 'The account is locked down',
      message: 'Nobody gets in with what they had. Send a link when you have reached this person.',
      ends: [
        ...(removed.includes('password') ? ([['The password is removed']] as const) : []),
        ...(removed.includes('passkey') ? ([['The passkeys are removed']] as const) : []),
        ...endsOf(impact),
      ],
      next: { page: 'link', label: 'Send a link for a new password' },
    };
  },
});
