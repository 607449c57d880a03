import { UsersService } from '@tessera/proto-gen/admin-users';
import { confirmedOfPerson } from '../confirmed.ts';

/** Ends the lock of too many wrong passwords. */
export const unlockPage = confirmedOfPerson({
  message: '{name} can try again at once. Make sure that it was they who tried.',
  label: 'Unlock',
  isHarmless: true,
  ends: async () => [],
  act: async ({ api, call }, whose) => {
    await api(UsersService).unlock(whose, call());
    return { title: 'This person is unlocked', message: 'They can sign in again now.' };
  },
});
