import { UsersService } from '@tessera/proto-gen/admin-users';
import type { PersonOptions } from '../options.ts';
import type { Terminal } from '../terminal.ts';
import { withPerson } from './password-link.ts';

/** Ends the lock of a person after too many guesses. Throws CommandError. */
export async function unlock(options: PersonOptions, terminal: Terminal): Promise<void> {
  const { called } = await withPerson(options, terminal, 'Unlocking', async ({ clientOf, call }, person) =>
    clientOf(UsersService).unlock(person, call),
  );
  terminal.say(`${called} can try to sign in again: earlier wrong passwords and codes no longer count.\n`);
}
