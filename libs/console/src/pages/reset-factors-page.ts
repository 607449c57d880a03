import { UsersService } from '@tessera/proto-gen/admin-users';
import { confirmedOfPerson, endsOf } from '../confirmed.ts';

/** Removes what a lost device had. */
export const resetFactorsPage = confirmedOfPerson({
  message:
    'The authenticator app, recovery codes and passkeys of {name} are removed. If a sign-in here needs two ways, they set up new ones at the next.',
  label: 'Remove second factors',
  ends: async ({ api, call }, whose) => {
    const request = { ...whose, validateOnly: true, impact: true };
    return endsOf((await api(UsersService).resetSecondFactors(request, call())).impact);
  },
  act: async ({ api, call }, whose) => {
    const { removed } = await api(UsersService).resetSecondFactors(whose, call());
    return {
      title: 'The second factors are removed',
      message:
        removed.length === 0
          ? 'There was nothing to remove, and nothing has ended.'
          : 'Everything that was issued to this person before has ended.',
    };
  },
});
