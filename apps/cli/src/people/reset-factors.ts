import { UsersService } from '@tessera/proto-gen/admin-users';
import type { Terminal } from '../terminal.ts';
import { withPerson, type PersonOptions } from './password-link.ts';

export interface ResetFactorsOptions extends PersonOptions {
  readonly validateOnly: boolean;
}

/** Removes the second factors of a person. Throws CommandError. */
export async function resetFactors(options: ResetFactorsOptions, terminal: Terminal): Promise<void> {
  const { validateOnly } = options;
  const { called, result } = await withPerson(
    options,
    terminal,
    'Resetting second factors',
    async ({ clientOf, call }, person) =>
      clientOf(UsersService).resetSecondFactors({ ...person, validateOnly }, call),
  );
  const { removed } = result;
  if (removed.length === 0) return terminal.say(`${called} has no second factor. Nothing has changed.\n`);
  if (validateOnly)
    return terminal.say(`This removes the authenticator app of ${called} and ends all sign-ins.\n`);
  terminal.say(`The authenticator app of ${called} is removed, and all sign-ins have ended.\n`);
}
