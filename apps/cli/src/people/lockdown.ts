import { UsersService } from '@tessera/proto-gen/admin-users';
import { counted, impactLines } from '../operate/records/show-impact.ts';
import type { PersonOptions } from '../options.ts';
import type { Terminal } from '../terminal.ts';
import { withPerson } from './password-link.ts';
import { listed, waysLeftLines } from './told-ways.ts';

export interface LockdownOptions extends PersonOptions {
  readonly validateOnly: boolean;
}

/** Shuts everybody out of the account of a person, and says what that ended. Throws CommandError. */
export async function lockdown(options: LockdownOptions, terminal: Terminal): Promise<void> {
  const { validateOnly, tenant } = options;
  const { called, result } = await withPerson(
    options,
    terminal,
    'Locking down',
    async ({ clientOf, call }, person) =>
      clientOf(UsersService).lockDown({ ...person, validateOnly, impact: true }, call),
  );
  const { removed, waysLeft, impact } = result;
  if (impact !== undefined) {
    const { ends: _, ...carriedOut } = impact;
    // Once it has ended there is nothing left to count, and nothing may keep it from ending.
    for (const ended of validateOnly ? await counted([impact], terminal) : [carriedOut])
      for (const line of impactLines(tenant, ended)) terminal.out(line);
  }
  if (impact === undefined) terminal.say('What this ends could not be counted.\n');
  const gone = removed.length === 0 ? '' : ` and removes ${listed(removed)}`;
  if (validateOnly) return terminal.say(`This ends all sign-ins of ${called}${gone}.\n`);
  terminal.say(`${called} is locked down: all sign-ins have ended.\n`);
  if (removed.length > 0) terminal.say(`Removed: ${listed(removed)}.\n`);
  for (const line of waysLeftLines(waysLeft)) terminal.say(line);
  terminal.say('To let them back in, make a link: tessera user reset-link.\n');
}
